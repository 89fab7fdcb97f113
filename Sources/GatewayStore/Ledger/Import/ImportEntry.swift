public import GatewayCore

/// A registration of the backend as an export says it is, judged: whose it is, or that it must be nobody's.
public struct ImportEntry: Sendable, Hashable {
    /// What is to become of it.
    public enum Judgement: Sendable, Hashable {
        /// It is the owner's, and only the owner's.
        case sound(owner: UserName, DeviceHandle)
        /// Notifications reach it that are not for its owner, or nobody can say who that is. The handle is there where it is one.
        case unsound(DeviceHandle?)
    }

    /// The backend's id.
    public let id: RegistrationID
    /// What is to become of it.
    public let judgement: Judgement
    /// The bytes by which the very same entry is known again.
    public let content: [UInt8]

    /// An entry from its parts.
    public init(id: RegistrationID, judgement: Judgement, content: [UInt8]) {
        self.id = id
        self.judgement = judgement
        self.content = content
    }
}

/// What the ledger made of an entry.
public enum ImportVerdict: String, Sendable, Hashable, CaseIterable {
    /// It is the owner's from now on; unconfirmed unless the operator vouches for it.
    case bound
    /// An earlier import has bound it, its device has not registered since, and now the operator vouches for it.
    case confirmed
    /// The ledger has had it before, be it from an import or because its device registered through the gateway. Nothing changed.
    case known
    /// It is sound, but its device is registered under another id by now: unsound, like what is so by itself.
    case superseded
    /// It is unsound and stays as it is.
    case unsound
    /// It is unsound and marked to be deleted at the backend.
    case purged
}

/// What is known of registrations from before the gateway.
public enum MigrationState: Sendable, Hashable {
    /// No import has run.
    case notImported
    /// An import has run; so many of the registrations that were unsound then have neither been deleted nor made anew since, and so
    /// many that were sound have not been confirmed since.
    case imported(unsound: Int, unconfirmed: Int = 0)
}
