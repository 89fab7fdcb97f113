/// One registration as the ledger has it. The handle is not in it: the ledger keeps only its digest.
public struct OwnedRegistration: Sendable, Hashable {
    /// How far a registration has come.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// The backend gave the id; nothing is registered under it yet, as far as the gateway knows.
        case reserved
        /// The backend has it, for the owner.
        case live
        /// The backend was asked to register it and the outcome is not known: it may have it, for the owner or for whoever asked.
        case unknown
        /// It was to be deleted, and the backend may still have it.
        case deleting
    }

    /// The backend's id.
    public let id: RegistrationID
    /// Whose it is.
    public let owner: UserName
    /// The service of its handle; nil for a reservation that was made without one.
    public let service: PushService?
    /// How far it has come.
    public let state: State
    /// When the device was first seen by the gateway.
    public let created: WallTime
    /// When the device last registered or asked for an id.
    public let lastSeen: WallTime
    /// How often its device changed hands within the last 24 hours.
    public let handOvers: Int
    /// Since when it is imported and unconfirmed, counted in time that the gateway runs; nil where its owner's device has
    /// registered through the gateway, or an operator has vouched for it.
    public let unconfirmedSince: WallTime?

    /// A registration from its parts.
    public init(
        id: RegistrationID, owner: UserName, service: PushService?, state: State, created: WallTime,
        lastSeen: WallTime, handOvers: Int, unconfirmedSince: WallTime? = nil
    ) {
        self.id = id
        self.owner = owner
        self.service = service
        self.state = state
        self.created = created
        self.lastSeen = lastSeen
        self.handOvers = handOvers
        self.unconfirmedSince = unconfirmedSince
    }
}
