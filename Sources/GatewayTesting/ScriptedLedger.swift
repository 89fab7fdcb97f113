public import GatewayCore
internal import Synchronization

/// A ledger that decides as the test says and remembers what it was told. It keeps nobody waiting.
public final class ScriptedLedger: RegistrationLedger {
    /// Where the ledger breaks down.
    public enum Fault: Sendable, Hashable {
        /// When it is asked where a caller stands.
        case begin
        /// There too, and with nothing wrong but that too many wait.
        case beginFull
        /// When it is asked whether an id is held.
        case isHeld
        /// When it is told that the backend is about to be asked for an update.
        case prepare
        /// When it is told what became of a claim.
        case finish
    }

    private struct State {
        var decide: @Sendable (LedgerRequest) -> LedgerDecision
        var held: Set<RegistrationID> = []
        var doomed: [RegistrationID] = []
        var owned: [OwnedRegistration] = []
        var outdated: [RegistrationID] = []
        var fault: Fault?
        var claims: UInt64 = 0
        var open: Set<UInt64> = []
    }

    private let timeline: Timeline
    private let state: Mutex<State>

    /// A ledger; unless told otherwise it knows nobody and nothing.
    public init(
        timeline: Timeline = Timeline(),
        deciding decide: @escaping @Sendable (LedgerRequest) -> LedgerDecision = ScriptedLedger.knowsNothing
    ) {
        self.timeline = timeline
        self.state = Mutex(State(decide: decide))
    }

    /// The decisions of an empty ledger.
    public static let knowsNothing: @Sendable (LedgerRequest) -> LedgerDecision = { request in
        switch request {
        case .create(_, let handle): handle == nil ? .askWithoutHandle : .askWithHandle
        case .update: .unplaced
        case .delete: .notOwned
        case .sweep: .spared
        }
    }

    /// From now on every request gets this decision.
    public func decide(_ decision: LedgerDecision) { state.withLock { $0.decide = { _ in decision } } }

    /// Ids that the ledger says it has for another handle.
    public func hold(_ ids: Set<RegistrationID>) { state.withLock { $0.held = ids } }

    /// From now on the ledger breaks down there, until this is called with nil.
    public func fail(at fault: Fault?) { state.withLock { $0.fault = fault } }

    /// The claims that were given and have not ended.
    public var openClaims: Int { state.withLock(\.open.count) }

    /// What it was asked, in order.
    public var requests: [LedgerRequest] {
        timeline.events.compactMap { if case .claimed(let request) = $0 { request } else { nil } }
    }

    /// What it was told, in order.
    public var changes: [LedgerChange] {
        timeline.events.compactMap { if case .changed(_, let change) = $0 { change } else { nil } }
    }

    /// Gives a claim with the scripted decision.
    public func begin(
        _ request: LedgerRequest, now: WallTime, isRevoked: @escaping @Sendable () -> Bool
    ) async throws(LedgerUnavailable) -> LedgerClaim {
        let (decision, number, isFull) = state.withLock { state in
            guard state.fault != .begin, state.fault != .beginFull else {
                return (LedgerDecision?.none, UInt64(0), state.fault == .beginFull)
            }
            state.claims += 1
            state.open.insert(state.claims)
            return (state.decide(request), state.claims, false)
        }
        guard let decision else { throw LedgerUnavailable("scripted: begin", isFull: isFull) }
        timeline.add(.claimed(request))
        var registered: RegistrationID?
        if case .own(let id) = decision { registered = id }
        return LedgerClaim(
            number: number, request: request, decision: decision, registered: registered, isRevoked: isRevoked
        ) { number in
            self.state.withLock { _ = $0.open.remove(number) }
            self.timeline.add(.released(request))
        }
    }

    /// Whether the test said so.
    public func isHeld(
        _ id: RegistrationID, forAnotherThan handle: DeviceHandle
    ) async throws(LedgerUnavailable) -> Bool {
        let (failed, held) = state.withLock { ($0.fault == .isHeld, $0.held.contains(id)) }
        if failed { throw LedgerUnavailable("scripted: isHeld") }
        return held
    }

    /// Registrations that it says are to be deleted.
    public func doom(_ ids: [RegistrationID]) { state.withLock { $0.doomed = ids } }

    /// Remembers the attempt. What a decision `own` names counts as registered already.
    public func prepare(
        _ id: RegistrationID, replacing: RegistrationID?, for claim: borrowing LedgerClaim, now: WallTime
    ) async throws(LedgerUnavailable) -> RegistrationAttempt? {
        if claim.isRevoked() { return nil }
        if state.withLock({ $0.fault == .prepare }) { throw LedgerUnavailable("scripted: prepare") }
        if id == claim.registered { return RegistrationAttempt(id: id, undo: .nothing) }
        timeline.add(.prepared(claim.request, id))
        return RegistrationAttempt(id: id, undo: .forget)
    }

    /// Remembers the id.
    public func dropOutdated(_ id: RegistrationID, now: WallTime) async throws(LedgerUnavailable) {
        state.withLock { $0.outdated.append(id) }
    }

    /// What it was told that the backend has for another handle.
    public var outdated: [RegistrationID] { state.withLock(\.outdated) }

    /// Whether a claim is open, of whatever it is.
    public func isClaimed(_ id: RegistrationID) -> Bool { openClaims > 0 }

    /// What the ledger says that users own.
    public func own(_ registrations: [OwnedRegistration]) { state.withLock { $0.owned = registrations } }

    /// Those of the user.
    public func registrations(of user: UserName) async throws(LedgerUnavailable) -> [OwnedRegistration] {
        let (failed, owned) = state.withLock { ($0.fault == .begin, $0.owned.filter { $0.owner == user }) }
        if failed { throw LedgerUnavailable("scripted: begin") }
        return owned
    }

    /// Those that the test named, and those that the gateway did.
    public func doomed(limit: Int) async throws(LedgerUnavailable) -> [RegistrationID] {
        state.withLock { Array($0.doomed.prefix(limit)) }
    }

    /// Remembers the change; the claim ends. What a revoked caller has registered is to be deleted.
    @discardableResult
    public func finish(
        _ claim: consuming LedgerClaim, with change: LedgerChange, now: WallTime
    ) async throws(LedgerUnavailable) -> Bool {
        if state.withLock({ $0.fault == .finish }) { throw LedgerUnavailable("scripted: finish") }
        timeline.add(.changed(claim.request, change))
        switch change {
        case .registered(let id, _), .unresolved(let id):
            guard claim.isRevoked() else { return true }
            state.withLock { $0.doomed.append(id) }
            return false
        case .reserved, .undone, .deleted: return true
        case .deleting, .unconfirmed: return false
        }
    }
}
