internal import GatewayCore

/// What a worker found out: codes and the account, no verdict.
struct WorkerFindings: Sendable, Hashable {
    /// What the account database has of the user.
    enum Entry: Sendable, Hashable {
        case found(Account)
        /// It has no such user.
        case absent
        /// It could not be asked.
        case unreadable
    }

    struct Account: Sendable, Hashable {
        let uid: UInt32
        let groups: Set<GroupName>
    }

    /// What `pam_authenticate` returned; nil where it was not asked. Neither was where the account's uid is too low.
    var authentication: PAMCode?
    /// What `pam_acct_mgmt` returned; nil where it was not asked.
    var account: PAMCode?
    /// The user as the modules left it (`PAM_USER`).
    var user: String
    /// What the account database has of that user.
    var entry: Entry
}

/// Why a worker has no findings.
enum WorkerRefusal: UInt8, Sendable, CaseIterable {
    /// The service has no stack of its own.
    case noSuchService = 1
    /// The request names another service than the worker is for.
    case otherService = 2
    /// libpam could not begin.
    case notStarted = 3
    /// The user as the modules left it is no text, or too long.
    case unreadableUser = 4
    /// The account has more groups than a packet holds.
    case tooManyGroups = 5
    /// A module has changed whom the worker runs as, or its root directory.
    case changedProcess = 6
}
