public import GatewayCore

/// A registration from an export of the backend, with an assessment of whether it may be bound to one owner.
public struct ImportEntry: Sendable, Hashable {
    /// The assessment of an exported registration.
    public enum Assessment: Sendable, Hashable {
        /// The registration belongs to the owner, and only to the owner.
        case valid(owner: UserName, handle: DeviceHandle)
        /// The registration also receives other users' notifications, or its owner is unknown. The handle is nil if it
        /// is invalid.
        case rejected(handle: DeviceHandle?)
    }

    /// The backend's id of the registration.
    public let id: RegistrationID
    /// The assessment.
    public let assessment: Assessment
    /// The bytes by which a later import recognises that the entry has not changed. The ledger stores their digest.
    public let content: [UInt8]
    /// Whether the registration is deleted at the backend unless the import binds it or the ledger contains it.
    public let isPurged: Bool

    /// Creates an entry from its parts.
    public init(id: RegistrationID, assessment: Assessment, content: [UInt8], isPurged: Bool = false) {
        self.id = id
        self.assessment = assessment
        self.content = content
        self.isPurged = isPurged
    }
}

/// The result of importing an entry.
public enum ImportResult: String, Sendable, Hashable, CaseIterable {
    /// The registration was bound to the owner. It is unconfirmed unless the operator confirmed the import.
    case bound
    /// An earlier import bound the registration, its device has not registered since, and the operator confirmed it
    /// now.
    case confirmed
    /// Nothing was changed: the ledger contains the registration already, or an earlier import bound or purged it and
    /// it has been deleted since.
    case alreadyHandled = "known"
    /// The registration is valid, but its device is now registered under another id. It is left as it is.
    case superseded
    /// The registration was rejected and is left as it is at the backend.
    case rejected = "unsound"
    /// The registration is rejected or superseded, and was marked for deletion at the backend.
    case purged
}

/// The state of the migration of registrations that existed before the gateway.
public enum MigrationState: Sendable, Hashable {
    /// No import has run.
    case notImported
    /// An import has run. `rejected` counts the rejected registrations that were neither deleted nor registered again
    /// since. `unconfirmed` counts the bound registrations that no device has confirmed since.
    case imported(rejected: Int, unconfirmed: Int = 0)
}
