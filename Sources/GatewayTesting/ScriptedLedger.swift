public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// A ledger that returns the decisions of the test and records its calls. It never suspends a caller.
public final class ScriptedLedger: RegistrationLedger {
    /// The call at which the ledger fails.
    public enum Fault: Sendable, Hashable {
        /// `begin`.
        case begin
        /// `begin`, because too many callers wait.
        case beginFull
        /// `isHeld`.
        case isHeld
        /// `prepare`, before the backend is sent an update.
        case prepare
        /// `finish`, with the result of a claim.
        case finish
    }

    private struct State {
        var decide: @Sendable (LedgerRequest) -> LedgerDecision
        var held: Set<RegistrationID> = []
        var pendingDeletion: [RegistrationID] = []
        var isRevoked = true
        var owned: [OwnedRegistration] = []
        var outdated: [RegistrationID] = []
        var superseded: [RegistrationID] = []
        var fault: Fault?
        var place: RegistrationPlace?
        var claims: UInt64 = 0
        var open: Set<UInt64> = []
    }

    private let timeline: Timeline
    private let state: Mutex<State>

    /// Creates a ledger. By default it is empty.
    public init(
        timeline: Timeline = Timeline(),
        deciding decide: @escaping @Sendable (LedgerRequest) -> LedgerDecision = ScriptedLedger.emptyLedgerDecision
    ) {
        self.timeline = timeline
        self.state = Mutex(State(decide: decide))
    }

    /// The decisions of an empty ledger.
    public static let emptyLedgerDecision: @Sendable (LedgerRequest) -> LedgerDecision = { request in
        switch request {
        case .create(_, let handle): handle == nil ? .queryWithoutHandle : .queryWithHandle
        case .update: .notRegistered
        case .delete: .notOwned
        case .sweep: .notMarked
        }
    }

    /// Returns this decision for every further request.
    public func decide(_ decision: LedgerDecision) { state.withLock { $0.decide = { _ in decision } } }

    /// Sets the place of the registration that every further decision names.
    public func setPlace(_ place: RegistrationPlace?) { state.withLock { $0.place = place } }

    /// Sets the ids that the ledger reports as held by another handle.
    public func setHeldIDs(_ ids: Set<RegistrationID>) { state.withLock { $0.held = ids } }

    /// Makes the ledger fail at this call, until it is called with nil.
    public func fail(at fault: Fault?) { state.withLock { $0.fault = fault } }

    /// The number of claims that have not ended.
    public var openClaims: Int { state.withLock(\.open.count) }

    /// The requests, in order.
    public var requests: [LedgerRequest] {
        timeline.events.compactMap { if case .claimed(let request) = $0 { request } else { nil } }
    }

    /// The changes, in order.
    public var changes: [LedgerChange] {
        timeline.events.compactMap { if case .changed(_, let change) = $0 { change } else { nil } }
    }

    /// Creates a claim with the scripted decision.
    public func begin(
        _ request: LedgerRequest, at upstream: UpstreamName?, now: WallTime,
        isRevoked: @escaping @Sendable () -> Bool
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
            number: number, request: request, decision: decision, upstream: upstream,
            place: state.withLock(\.place), registered: registered, isRevoked: isRevoked
        ) { number in
            self.state.withLock { _ = $0.open.remove(number) }
            self.timeline.add(.released(request))
        }
    }

    /// Whether the test declared the id as held.
    public func isHeld(
        _ id: RegistrationID, forAnotherThan handle: DeviceHandle
    ) async throws(LedgerUnavailable) -> Bool {
        let (failed, held) = state.withLock { ($0.fault == .isHeld, $0.held.contains(id)) }
        if failed { throw LedgerUnavailable("scripted: isHeld") }
        return held
    }

    /// Sets the registrations that are to be deleted, and whether a revocation has marked them.
    public func markForDeletion(_ ids: [RegistrationID], isRevoked: Bool = true) {
        state.withLock { ($0.pendingDeletion, $0.isRevoked) = (ids, isRevoked) }
    }

    /// Records the attempt. The id of a decision `own` counts as registered.
    public func prepare(
        _ id: RegistrationID, replacing: RegistrationID?, superseding: [RegistrationID],
        for claim: borrowing LedgerClaim, now: WallTime
    ) async throws(LedgerUnavailable) -> RegistrationAttempt? {
        if claim.isRevoked() { return nil }
        if state.withLock({ $0.fault == .prepare }) { throw LedgerUnavailable("scripted: prepare") }
        state.withLock { $0.superseded += superseding }
        if id == claim.registered { return RegistrationAttempt(id: id, undo: .nothing) }
        timeline.add(.prepared(claim.request, id))
        return RegistrationAttempt(id: id, undo: .remove)
    }

    /// Records the id.
    public func dropOutdated(_ id: RegistrationID, now: WallTime) async throws(LedgerUnavailable) {
        state.withLock { $0.outdated.append(id) }
    }

    /// The ids whose registration at the backend belongs to another handle, as the gateway reported.
    public var outdated: [RegistrationID] { state.withLock(\.outdated) }

    /// The other registrations of a device at the backend, as the gateway reported.
    public var superseded: [RegistrationID] { state.withLock(\.superseded) }

    /// Whether any claim is open. The id is ignored.
    public func isClaimed(_ id: RegistrationID) -> Bool { openClaims > 0 }

    /// Sets the registrations that users own.
    public func setOwned(_ registrations: [OwnedRegistration]) { state.withLock { $0.owned = registrations } }

    /// Returns the user's registrations.
    public func registrations(of user: UserName) async throws(LedgerUnavailable) -> [OwnedRegistration] {
        let (failed, owned) = state.withLock { ($0.fault == .begin, $0.owned.filter { $0.owner == user }) }
        if failed { throw LedgerUnavailable("scripted: begin") }
        return owned
    }

    /// Returns the ids that are to be deleted, named by the test or the gateway.
    public func markedForDeletion(limit: Int) async throws(LedgerUnavailable) -> [MarkedRegistration] {
        state.withLock { state in
            state.pendingDeletion.prefix(limit).map { MarkedRegistration(id: $0, isRevoked: state.isRevoked) }
        }
    }

    /// Records the change and ends the claim. A registration of a revoked caller becomes one to delete.
    @discardableResult
    public func finish(
        _ claim: consuming LedgerClaim, with change: LedgerChange, now: WallTime
    ) async throws(LedgerUnavailable) -> Bool {
        if state.withLock({ $0.fault == .finish }) { throw LedgerUnavailable("scripted: finish") }
        timeline.add(.changed(claim.request, change))
        switch change {
        case .registered(let id, _), .unresolved(let id):
            guard claim.isRevoked() else { return true }
            state.withLock { $0.pendingDeletion.append(id) }
            return false
        case .reserved, .undone, .deleted: return true
        case .deleting, .deletionUnanswered, .unconfirmed: return false
        }
    }
}

extension RegistrationLedger {
    /// Returns the ids of the registrations that are marked for deletion, in the order of their deletion.
    public func pendingDeletion(limit: Int) async throws(LedgerUnavailable) -> [RegistrationID] {
        try await markedForDeletion(limit: limit).map(\.id)
    }

    /// Claims on behalf of a caller that cannot be revoked.
    public func begin(_ request: LedgerRequest, now: WallTime) async throws(LedgerUnavailable) -> LedgerClaim {
        try await begin(request, at: nil, now: now, isRevoked: { false })
    }

    /// Claims for an upstream without a name.
    public func begin(
        _ request: LedgerRequest, now: WallTime, isRevoked: @escaping @Sendable () -> Bool
    ) async throws(LedgerUnavailable) -> LedgerClaim {
        try await begin(request, at: nil, now: now, isRevoked: isRevoked)
    }
}
