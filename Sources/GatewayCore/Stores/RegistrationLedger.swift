/// Who owns which device registration. The login and the handle decide; an id that a client presents is only a label.
///
/// Every change is in three moves: `begin` claims what the change touches and says what stands there, the backend is called,
/// `finish` writes what became of it. While a claim is held, whoever else wants the same handle or registration waits, so that
/// backend and ledger cannot drift apart between two phones.
public protocol RegistrationLedger: Sendable {
    /// Looks up where the caller stands and claims it. Waits while another call holds the same handle or registration.
    func begin(_ request: LedgerRequest, now: WallTime) async throws(LedgerUnavailable) -> LedgerClaim

    /// Whether the ledger has the id for another handle than this one.
    func isHeld(_ id: RegistrationID, forAnotherThan handle: DeviceHandle) async throws(LedgerUnavailable) -> Bool

    /// Marks a registration to be deleted at the backend, where it is the user's: for one that was made while its owner was
    /// revoked.
    func doom(
        _ id: RegistrationID, of owner: UserName, because reason: SweepReason) async throws(LedgerUnavailable)

    /// What the user owns, the one seen last first; nothing that is only reserved.
    func registrations(of user: UserName) async throws(LedgerUnavailable) -> [OwnedRegistration]

    /// The registrations that are marked to be deleted, so many at most.
    func doomed(limit: Int) async throws(LedgerUnavailable) -> [RegistrationID]

    /// Writes what became of a claim, durably, and gives it up. A claim that is dropped without this changes nothing.
    func finish(
        _ claim: consuming LedgerClaim, with change: LedgerChange, now: WallTime) async throws(LedgerUnavailable)
}

/// The ledger's store cannot be read or written.
public struct LedgerUnavailable: Error, Sendable, CustomStringConvertible {
    /// For the log.
    public let detail: String
    /// Whether nothing is wrong but that too many calls wait already.
    public let isFull: Bool

    /// A failure as the store describes it.
    public init(_ detail: String, isFull: Bool = false) {
        self.detail = detail
        self.isFull = isFull
    }

    /// The detail: a gateway that cannot start says it to its operator.
    public var description: String { detail }
}

/// What a caller wants of the ledger.
public enum LedgerRequest: Sendable, Hashable {
    /// A device asks for an id, perhaps saying its handle.
    case create(user: UserName, handle: DeviceHandle?)
    /// A device registers a handle under the id that it remembers. The account is the one by which its user was let in, where
    /// somebody has to ask from time to time how that stands.
    case update(user: UserName, label: RegistrationID, handle: DeviceHandle, account: Account? = nil)
    /// A device gives up the registration that its id means to it.
    case delete(user: UserName, label: RegistrationID)
    /// The gateway itself deletes a registration that is marked for it.
    case sweep(RegistrationID)

    /// Who wants it; nil for the gateway itself.
    public var user: UserName? {
        switch self {
        case .create(let user, _), .update(let user, _, _, _), .delete(let user, _): user
        case .sweep: nil
        }
    }
}

/// Where a caller stands.
public enum LedgerDecision: Sendable, Hashable {
    /// `create`: the backend is to be asked with the handle, which is unbound or the caller's own.
    case askWithHandle
    /// `create`: the backend is to be asked without a handle: none was given, or it is another's.
    case askWithoutHandle
    /// `update`: the handle is the caller's own, or was reserved by the caller with this very handle; use this registration.
    case own(RegistrationID)
    /// `update`: the handle belongs to another user, and so the device has changed hands; use its registration.
    case handOver(RegistrationID, from: UserName)
    /// `update`: the handle is new, and the label means a registration of the caller's: the device's token was rotated.
    case rotation(RegistrationID)
    /// `update`: nothing is known of the handle, and what the label names is not the caller's: the backend must be asked.
    case unplaced
    /// `update`: the handle changed hands too often within a day.
    case tooManyHandOvers
    /// `delete`: the label means this registration, and it is the caller's.
    case owned(RegistrationID)
    /// `delete`: the label means nothing to the caller, or what it means is another's. Indistinguishable on purpose.
    case notOwned
    /// `sweep`: the registration is this owner's and is still to be deleted.
    /// Nobody's is one from before the gateway of which no one owner could be told.
    case doomed(RegistrationID, owner: UserName?, because: SweepReason)
    /// `sweep`: the registration is gone, or its device has registered again meanwhile.
    case spared
}

/// Why the gateway deletes a registration by itself: the `rule` of its record.
public enum SweepReason: String, Sendable, Hashable, CaseIterable {
    /// Its owner was revoked, or it was itself, by an operator.
    case revoked
    /// Its owner has too many, and this one was not seen for longest.
    case surplus
    /// Its owner gave it up, and the backend would not delete it then.
    case givenUp = "given-up"
    /// An import found that notifications reach it that are not for its owner.
    case unsound
}

/// A place in the ledger that one call holds. Dropping it gives the place up unchanged.
public struct LedgerClaim: ~Copyable, Sendable {
    /// The ledger's number for the claim.
    public let number: UInt64
    /// What was wanted.
    public let request: LedgerRequest
    /// Where the caller stands.
    public let decision: LedgerDecision
    private let release: @Sendable (UInt64) -> Void

    /// A claim; `release` is called once with its number, on any thread, when the claim ends.
    public init(
        number: UInt64, request: LedgerRequest, decision: LedgerDecision,
        release: @escaping @Sendable (UInt64) -> Void
    ) {
        self.number = number
        self.request = request
        self.decision = decision
        self.release = release
    }

    deinit { release(number) }
}

/// What became of a claim at the backend.
public enum LedgerChange: Sendable, Hashable {
    /// `create`: the backend gave an id, asked with the handle or without. From now on it is a label of the caller's. Where the
    /// handle is the caller's under another id, the binding moves to this one: the backend keeps only this.
    case reserved(RegistrationID, handle: DeviceHandle?)
    /// `update`: the backend has the registration under this id, for the caller and the handle of the request; the request's
    /// label means it from now on. `replacing` is the id that was lost and is dropped.
    case registered(RegistrationID, replacing: RegistrationID?)
    /// `delete`, `sweep`: the backend no longer has the registration, or only under a name that nobody can reach.
    case deleted(RegistrationID)
    /// `delete`, `sweep`: the backend may still have it. It stays the owner's and is marked, to be tried again.
    case deleting(RegistrationID)
}
