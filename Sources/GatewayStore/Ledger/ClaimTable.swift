internal import GatewayCore
internal import Synchronization

/// Who holds which handle and which registration, and who waits for them, first come, first served.
///
/// In memory: claims end with the process. Nothing deadlocks, because a claim takes its handle before its registration and
/// waits for nothing else while it holds one.
final class ClaimTable: Sendable {
    /// What can be held.
    enum Key: Hashable {
        case handle(HandleKey)
        case registration(RegistrationID)
    }

    private typealias Outcome = Result<Void, LedgerUnavailable>

    private struct Waiter {
        let claim: UInt64
        let continuation: CheckedContinuation<Outcome, Never>
    }

    private struct State {
        var lastClaim: UInt64 = 0
        /// The keys that are held, each with those who wait for it, oldest first.
        var waiters: [Key: [Waiter]] = [:]
        var held: [UInt64: Set<Key>] = [:]
        /// Who holds each key.
        var holders: [Key: UInt64] = [:]
        /// For each claim of a caller that can be revoked, whether it is.
        var revocations: [UInt64: @Sendable () -> Bool] = [:]
        var waiting = 0
    }

    private let state = Mutex(State())
    private let waitersPerKey: Int
    private let waitersInAll: Int

    /// An empty table with its bounds.
    init(waitersPerKey: Int, waitersInAll: Int) {
        self.waitersPerKey = waitersPerKey
        self.waitersInAll = waitersInAll
    }

    /// How many claims wait at present.
    var waiting: Int { state.withLock { $0.waiting } }

    /// How many keys are held at present.
    var heldKeys: Int { state.withLock { $0.waiters.count } }

    /// A number for a claim that holds nothing yet. `end(_:)` must be called for it.
    ///
    /// - Parameter isRevoked: whether its caller has lost what let it in.
    func open(_ isRevoked: (@Sendable () -> Bool)? = nil) -> UInt64 {
        state.withLock { state in
            state.lastClaim += 1
            if let isRevoked { state.revocations[state.lastClaim] = isRevoked }
            return state.lastClaim
        }
    }

    /// What became of an attempt to take a key without waiting.
    enum Taking: Hashable {
        /// The claim holds it now.
        case taken
        /// Another claim holds it.
        case busy
        /// Another claim holds it, and its caller is revoked.
        case heldByRevoked
    }

    /// Takes the key for the claim if nobody holds it.
    func take(_ key: Key, for claim: UInt64) -> Taking {
        let holder = state.withLock { state -> (@Sendable () -> Bool)?? in
            guard state.waiters[key] == nil else { return .some(state.holders[key].flatMap { state.revocations[$0] }) }
            state.waiters[key] = []
            state.holders[key] = claim
            state.held[claim, default: []].insert(key)
            return nil
        }
        guard let holder else { return .taken }
        // Asks the sessions, which have a lock of their own.
        return holder?() == true ? .heldByRevoked : .busy
    }

    /// Whether anybody holds the key.
    func isHeld(_ key: Key) -> Bool { state.withLock { $0.waiters[key] != nil } }

    /// Takes the key for the claim, after everybody who asked before. A claim must not ask for what it holds.
    ///
    /// Throws where too many wait, and where the waiting task is cancelled.
    func hold(_ key: Key, for claim: UInt64) async throws(LedgerUnavailable) {
        let outcome: Outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state in
                    admit(Waiter(claim: claim, continuation: continuation), to: key, &state)
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { Self.withdraw(claim, from: key, &$0) }
            waiter?.continuation.resume(returning: .failure(Self.cancelled))
        }
        try outcome.get()
    }

    /// Gives one key of the claim to the next in line.
    func letGo(_ key: Key, of claim: UInt64) {
        let next = state.withLock { state in
            state.held[claim]?.remove(key) == nil ? nil : Self.pass(on: key, &state)
        }
        next?.continuation.resume(returning: .success(()))
    }

    /// Gives up everything that the claim holds. On any thread; for a claim that ended already it does nothing.
    func end(_ claim: UInt64) {
        let next = state.withLock { state in
            state.revocations[claim] = nil
            return (state.held.removeValue(forKey: claim) ?? []).compactMap { Self.pass(on: $0, &state) }
        }
        for waiter in next { waiter.continuation.resume(returning: .success(())) }
    }

    private static let cancelled = LedgerUnavailable("the call was cancelled while it waited for another")

    /// The answer, where there is one at once.
    private func admit(_ waiter: Waiter, to key: Key, _ state: inout State) -> Outcome? {
        guard let queue = state.waiters[key] else {
            state.waiters[key] = []
            state.holders[key] = waiter.claim
            state.held[waiter.claim, default: []].insert(key)
            return .success(())
        }
        // Cancelled before this point, the handler found nobody to withdraw and will not run again.
        guard !Task.isCancelled else { return .failure(Self.cancelled) }
        guard queue.count < waitersPerKey, state.waiting < waitersInAll else {
            return .failure(LedgerUnavailable("too many calls wait for one device or registration", isFull: true))
        }
        state.waiters[key]?.append(waiter)
        state.waiting += 1
        return nil
    }

    private static func withdraw(_ claim: UInt64, from key: Key, _ state: inout State) -> Waiter? {
        guard let place = state.waiters[key]?.firstIndex(where: { $0.claim == claim }) else { return nil }
        state.waiting -= 1
        return state.waiters[key]?.remove(at: place)
    }

    private static func pass(on key: Key, _ state: inout State) -> Waiter? {
        guard let first = state.waiters[key]?.first else {
            state.waiters[key] = nil
            state.holders[key] = nil
            return nil
        }
        state.waiters[key]?.removeFirst()
        state.waiting -= 1
        state.held[first.claim, default: []].insert(key)
        state.holders[key] = first.claim
        return first
    }
}
