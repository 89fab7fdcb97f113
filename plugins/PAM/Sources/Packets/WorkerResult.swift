internal import GatewayCore

/// The results of a worker's calls: PAM codes and the account, without a decision.
struct WorkerResult: Sendable, Hashable {
    /// The result of looking the user up in the account database.
    enum Entry: Sendable, Hashable {
        case found(Account)
        /// The database has no such user.
        case absent
        /// The database could not be queried.
        case unreadable
    }

    struct Account: Sendable, Hashable {
        let uid: UInt32
        let groups: Set<GroupName>
    }

    /// The result of `pam_authenticate`; nil if it was not called. Neither function is called for an account whose
    /// uid is too low.
    var authentication: PAMCode?
    /// The result of `pam_acct_mgmt`; nil if it was not called.
    var account: PAMCode?
    /// The user as the modules left it (`PAM_USER`).
    var user: String
    /// The account database's entry for that user.
    var entry: Entry
}

/// The reason why a worker has no findings.
enum WorkerError: UInt8, Sendable, CaseIterable {
    /// The service has no file of its own.
    case noSuchService = 1
    /// The request names another service than the worker's.
    case otherService = 2
    /// libpam could not start a transaction.
    case notStarted = 3
    /// The user that the modules left is not valid text, or is too long.
    case unreadableUser = 4
    /// The account has more groups than fit in a packet.
    case tooManyGroups = 5
    /// A module changed the worker's user or its root directory.
    case changedProcess = 6
}
