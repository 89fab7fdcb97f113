public import GatewayCore

/// A registration from an export of the backend, with the assessment whether it belongs to its owner.
public struct ImportEntry: Sendable, Hashable {
    /// The assessment of an exported registration.
    public enum Assessment: Sendable, Hashable {
        /// The registration belongs to the owner, and only to the owner.
        case sound(owner: UserName, DeviceHandle)
        /// The registration also receives notifications for others, or its owner is unknown. The handle is nil if it is
        /// invalid.
        case unsound(DeviceHandle?)
    }

    /// The backend's id of the registration.
    public let id: RegistrationID
    /// The assessment.
    public let assessment: Assessment
    /// The bytes that identify an unchanged entry in a later import.
    public let content: [UInt8]

    /// Creates an entry from its parts.
    public init(id: RegistrationID, assessment: Assessment, content: [UInt8]) {
        self.id = id
        self.assessment = assessment
        self.content = content
    }
}

/// The result of importing an entry.
public enum ImportResult: String, Sendable, Hashable, CaseIterable {
    /// The registration was bound to the owner. It is unconfirmed unless the operator confirmed the import.
    case bound
    /// An earlier import bound the registration, its device has not registered since, and the operator confirmed it
    /// now.
    case confirmed
    /// The ledger already contains the registration, from an import or because its device registered. Nothing changed.
    case known
    /// The registration is valid, but its device is now registered under another id. It is treated as rejected.
    case superseded
    /// The registration is rejected and was not changed.
    case unsound
    /// The registration is rejected and was marked for deletion at the backend.
    case purged
}

/// The state of the migration of registrations that existed before the gateway.
public enum MigrationState: Sendable, Hashable {
    /// No import has run.
    case notImported
    /// An import has run. `unsound` counts the rejected registrations that were neither deleted nor registered again
    /// since. `unconfirmed` counts the bound registrations that no device has confirmed since.
    case imported(unsound: Int, unconfirmed: Int = 0)
}
