/// Who owns which device registration. The login and the handle decide; an id that a client presents is only a label.
///
/// Every change is in three moves: `begin` claims what the change touches and says what stands there, the backend is called,
/// `finish` writes what became of it. While a claim is held, whoever else wants the same handle or registration waits, so that
/// backend and ledger cannot drift apart between two phones. An update has a fourth move: `prepare` writes, before the backend is
/// asked, that it is about to be. So no registration that the backend may have is missing from the ledger, whatever breaks.
public protocol RegistrationLedger: Sendable {
    /// Looks up where the caller stands and claims it. Waits while another call holds the same handle or registration; a sweep
    /// never waits.
    ///
    /// - Parameter isRevoked: whether the caller has lost what let it in. `prepare` and `finish` call it inside their transaction,
    ///   on a thread of the store's; `begin` of a sweep calls it to tell whether it may go ahead of this call.
    func begin(
        _ request: LedgerRequest, now: WallTime, isRevoked: @escaping @Sendable () -> Bool
    ) async throws(LedgerUnavailable) -> LedgerClaim

    /// Writes, durably, that the claim's user is about to register under the id. Until a later change says otherwise the
    /// registration counts as the user's too, and its state is `unknown`. Writes nothing where the ledger has the registration as
    /// the user's already.
    ///
    /// - Parameter replacing: the id that the backend has lost and that this one stands for.
    /// - Returns: nil, having written nothing, where the caller is revoked: the backend must not be asked.
    func prepare(
        _ id: RegistrationID, replacing: RegistrationID?, for claim: borrowing LedgerClaim, now: WallTime
    ) async throws(LedgerUnavailable) -> RegistrationAttempt?

    /// Marks a registration to be deleted whose last update has an unknown outcome, since the backend has its id for another
    /// handle: its device has that handle now, and is about to be registered anew.
    func dropOutdated(_ id: RegistrationID, now: WallTime) async throws(LedgerUnavailable)

    /// Whether a call holds the registration at present. Never waits.
    func isClaimed(_ id: RegistrationID) -> Bool

    /// Whether the ledger has the id for another handle than this one.
    func isHeld(_ id: RegistrationID, forAnotherThan handle: DeviceHandle) async throws(LedgerUnavailable) -> Bool

    /// What the user owns, the one seen last first; nothing that is only reserved.
    func registrations(of user: UserName) async throws(LedgerUnavailable) -> [OwnedRegistration]

    /// The registrations that are marked to be deleted, so many at most.
    func doomed(limit: Int) async throws(LedgerUnavailable) -> [RegistrationID]

    /// Writes what became of a claim, durably, and gives it up. A claim that is dropped without this changes nothing.
    ///
    /// - Returns: for a create and an update, whether the registration stays; otherwise its caller was revoked meanwhile, and what is
    ///   bound is marked to be deleted. For a deletion, whether it is complete; otherwise the registration stays marked, to be deleted again.
    @discardableResult
    func finish(
        _ claim: consuming LedgerClaim, with change: LedgerChange, now: WallTime
    ) async throws(LedgerUnavailable) -> Bool
}

extension RegistrationLedger {
    /// For a caller that nothing is taken back from.
    public func begin(_ request: LedgerRequest, now: WallTime) async throws(LedgerUnavailable) -> LedgerClaim {
        try await begin(request, now: now, isRevoked: { false })
    }
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

    /// The registration that an update found.
    public var updated: RegistrationID? {
        switch self {
        case .own(let id), .handOver(let id, _), .rotation(let id): id
        case .askWithHandle, .askWithoutHandle, .unplaced, .tooManyHandOvers, .owned, .notOwned, .doomed, .spared: nil
        }
    }
}

/// Why the gateway deletes a registration by itself: the `rule` of its record.
public enum SweepReason: String, Sendable, Hashable, CaseIterable {
    /// Its owner was revoked, or it was itself, by an operator, or the session that it was made in ended meanwhile.
    case revoked
    /// Its owner has too many, and this one was not seen for longest.
    case surplus
    /// Its owner gave it up, and the backend would not delete it then.
    case givenUp = "given-up"
    /// Nobody can be asked about its owner's account, and it was last registered too long ago.
    case loginTooOld = "login-too-old"
    /// An import found that notifications reach it that are not for its owner.
    case unsound
    /// An import bound it, and its owner's device has not registered again in time.
    case unconfirmed
    /// The ledger was restored from a copy, and the journal says that the registration was deleted, or made for another user,
    /// after the copy was made.
    case restored
    /// Its device is registered under another id, and it is not known whether the backend has this one too.
    case superseded
}

/// An update that the backend is about to be asked for, as `prepare` has written it.
public struct RegistrationAttempt: Sendable, Hashable {
    /// What the ledger has to do where the backend did not carry the update out.
    public enum Undo: Sendable, Hashable {
        /// Nothing: it had the registration as the user's already, or an earlier attempt's outcome is unknown.
        case nothing
        /// To forget the attempt: the registration was there before.
        case forget
        /// To make the registration a mere reservation, as it was.
        case reserve
    }

    /// Under which id the backend is asked to register.
    public let id: RegistrationID
    /// What to do where the backend did not.
    public let undo: Undo

    /// An attempt; ledgers make them.
    public init(id: RegistrationID, undo: Undo) {
        self.id = id
        self.undo = undo
    }
}

/// A place in the ledger that one call holds. Dropping it gives the place up unchanged.
public struct LedgerClaim: ~Copyable, Sendable {
    /// The ledger's number for the claim.
    public let number: UInt64
    /// What was wanted.
    public let request: LedgerRequest
    /// Where the caller stands.
    public let decision: LedgerDecision
    /// The registration that the ledger has as the caller's, for the request's handle, with no doubt about its state: it
    /// needs no `prepare`.
    public let registered: RegistrationID?
    /// Whether a call holds the registration whose caller is revoked, and this sweep goes ahead of it: the registration has to be
    /// deleted once more when that call has ended.
    public let isAhead: Bool
    /// Whether the caller has lost what let it in.
    public let isRevoked: @Sendable () -> Bool
    private let release: @Sendable (UInt64) -> Void

    /// A claim; `release` is called once with its number, on any thread, when the claim ends.
    public init(
        number: UInt64, request: LedgerRequest, decision: LedgerDecision, registered: RegistrationID? = nil,
        isAhead: Bool = false, isRevoked: @escaping @Sendable () -> Bool = { false },
        release: @escaping @Sendable (UInt64) -> Void
    ) {
        self.number = number
        self.request = request
        self.decision = decision
        self.registered = registered
        self.isAhead = isAhead
        self.isRevoked = isRevoked
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
    /// `update`: it is not known whether the backend has the registration: it did not answer, or its answer can mean either.
    case unresolved(RegistrationID)
    /// `update`: the backend did not carry the attempt out.
    case undone(RegistrationAttempt)
    /// `delete`, `sweep`: the backend no longer has the registration, or only under a name that nobody can reach. A registration
    /// that an update of the last minutes may yet reach stays marked for as long.
    case deleted(RegistrationID)
    /// `delete`, `sweep`: the backend may still have it. It stays the owner's and is marked, to be tried again.
    case deleting(RegistrationID)
    /// `delete`, `sweep`: the backend would not delete it, and says that it overwrote it, which proves nothing. It stays marked,
    /// until it has been so for a day.
    case unconfirmed(RegistrationID)
}
