public import GatewaySupport

/// One registration in the ledger. It does not contain the handle, of which the ledger keeps only a digest.
public struct OwnedRegistration: Sendable, Hashable {
    /// The state of a registration.
    public enum State: String, Sendable, Hashable, CaseIterable {
        /// The backend assigned the id; as far as the gateway knows, nothing is registered under it yet.
        ///
        /// An attempted update leads to `unknown`.
        case reserved
        /// The backend has the registration for the owner.
        ///
        /// An attempted update for another user leads to `unknown`, a revocation or a failed deletion to `deleting`. A
        /// confirmed deletion removes the registration.
        case live
        /// An update was sent to the backend and its outcome is unknown. The backend may have the registration for the
        /// owner or for the caller of that update.
        ///
        /// A successful update leads to `live`. An update that was not carried out leads back to the former state. A
        /// revocation leads to `deleting`.
        case unknown
        /// The registration is to be deleted, and the backend may still have it.
        ///
        /// A confirmed deletion removes the registration. If its device registers again, it becomes `live`.
        case deleting
    }

    /// The backend's id.
    public let id: RegistrationID
    /// The owner.
    public let owner: UserName
    /// The push service of the handle; nil for a reservation without a handle.
    public let service: PushService?
    /// The state.
    public let state: State
    /// The time at which the gateway first saw the device.
    public let created: WallTime
    /// The time at which the device last registered or requested an id.
    public let lastSeen: WallTime
    /// The number of hand-overs of the device within the last 24 hours.
    public let ownershipTransfers: Int
    /// The start of the unconfirmed period of an imported registration, in time that the gateway runs. Nil once the
    /// owner's device has registered through the gateway, or if an operator confirmed it.
    public let unconfirmedSince: WallTime?
    /// The upstream at which it was made; nil if the ledger does not know it.
    public let upstream: UpstreamName?

    /// Creates a value.
    public init(
        id: RegistrationID, owner: UserName, service: PushService?, state: State, created: WallTime,
        lastSeen: WallTime, ownershipTransfers: Int, unconfirmedSince: WallTime? = nil,
        upstream: UpstreamName? = nil
    ) {
        self.id = id
        self.owner = owner
        self.service = service
        self.state = state
        self.created = created
        self.lastSeen = lastSeen
        self.ownershipTransfers = ownershipTransfers
        self.unconfirmedSince = unconfirmedSince
        self.upstream = upstream
    }
}
