internal import GatewayCore
internal import Synchronization

/// Exclusive locks on device handles and registrations, granted in the order of the requests.
///
/// The locks are held in memory and are lost with the process. Deadlocks cannot occur, because every claim locks its
/// handle before its registration, and while it holds a lock it waits for no other kind of resource.
final class KeyLocks: Sendable {
    /// An object that can be locked.
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
        /// The locked keys, each with its waiters, oldest first.
        var waiters: [Key: [Waiter]] = [:]
        /// The keys that each claim holds.
        var held: [UInt64: Set<Key>] = [:]
        /// The claim that holds each key.
        var holders: [Key: UInt64] = [:]
        /// The revocation checks of the claims whose callers can be revoked.
        var revocations: [UInt64: @Sendable () -> Bool] = [:]
        var waiting = 0
    }

    private let state = Mutex(State())
    private let maximumWaitersPerKey: Int
    private let maximumWaiters: Int

    /// Creates an empty lock table that limits the number of waiting claims, per key and in total.
    init(maximumWaitersPerKey: Int, maximumWaiters: Int) {
        self.maximumWaitersPerKey = maximumWaitersPerKey
        self.maximumWaiters = maximumWaiters
    }

    /// The number of waiting claims. For tests.
    var waiting: Int { state.withLock { $0.waiting } }

    /// The number of locked keys. For tests.
    var heldKeys: Int { state.withLock { $0.waiters.count } }

    /// Returns a new claim that holds no lock. The caller must call `releaseAll(_:)` for it.
    ///
    /// - Parameter isRevoked: Returns whether the credential of the claim's caller was revoked.
    func makeClaim(_ isRevoked: (@Sendable () -> Bool)? = nil) -> UInt64 {
        state.withLock { state in
            state.lastClaim += 1
            if let isRevoked { state.revocations[state.lastClaim] = isRevoked }
            return state.lastClaim
        }
    }

    /// The result of an attempt to acquire a key without waiting.
    enum AcquireResult: Hashable {
        /// The claim holds the key now.
        case acquired
        /// Another claim holds the key.
        case busy
        /// The key is held by another claim whose caller's credential was revoked.
        case heldByRevoked
    }

    /// Acquires the key for the claim if no claim holds it. Does not wait.
    func tryAcquire(_ key: Key, for claim: UInt64) -> AcquireResult {
        let holder = state.withLock { state -> (@Sendable () -> Bool)?? in
            guard state.waiters[key] == nil else { return .some(state.holders[key].flatMap { state.revocations[$0] }) }
            state.waiters[key] = []
            state.holders[key] = claim
            state.held[claim, default: []].insert(key)
            return nil
        }
        guard let holder else { return .acquired }
        // Called outside the lock, because the check acquires the lock of the sessions.
        return holder?() == true ? .heldByRevoked : .busy
    }

    /// Returns whether a claim holds the key.
    func isHeld(_ key: Key) -> Bool { state.withLock { $0.waiters[key] != nil } }

    /// Acquires the key for the claim, after all earlier waiters. A claim must not request a key that it holds.
    ///
    /// Throws if too many claims wait, or if the task is cancelled before it gets the key.
    func acquire(_ key: Key, for claim: UInt64) async throws(LedgerUnavailable) {
        let outcome: Outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let immediate = state.withLock { state in
                    admit(Waiter(claim: claim, continuation: continuation), to: key, &state)
                }
                if let immediate { continuation.resume(returning: immediate) }
            }
        } onCancel: {
            let waiter = state.withLock { Self.withdraw(claim, from: key, &$0) }
            waiter?.continuation.resume(returning: .failure(Self.cancelled))
        }
        try outcome.get()
    }

    /// Releases one key of the claim to the next waiter.
    func release(_ key: Key, of claim: UInt64) {
        let next = state.withLock { state in
            state.held[claim]?.remove(key) == nil ? nil : Self.grantNext(key, &state)
        }
        next?.continuation.resume(returning: .success(()))
    }

    /// Releases all keys of the claim. Callable on any thread; has no effect on a claim that has ended.
    func releaseAll(_ claim: UInt64) {
        let next = state.withLock { state in
            state.revocations[claim] = nil
            return (state.held.removeValue(forKey: claim) ?? []).compactMap { Self.grantNext($0, &state) }
        }
        for waiter in next { waiter.continuation.resume(returning: .success(())) }
    }

    /// The error of a claim whose task was cancelled while it waited.
    static let cancelled = LedgerUnavailable("the call was cancelled while it waited for another call")

    /// Acquires the key if it is free, or queues the waiter. Returns the outcome, or nil if the waiter was queued.
    private func admit(_ waiter: Waiter, to key: Key, _ state: inout State) -> Outcome? {
        guard let queue = state.waiters[key] else {
            state.waiters[key] = []
            state.holders[key] = waiter.claim
            state.held[waiter.claim, default: []].insert(key)
            return .success(())
        }
        // If the task was cancelled earlier, the cancellation handler found no waiter and does not run again.
        guard !Task.isCancelled else { return .failure(Self.cancelled) }
        guard queue.count < maximumWaitersPerKey, state.waiting < maximumWaiters else {
            return .failure(LedgerUnavailable("too many calls wait for one device or registration", isFull: true))
        }
        state.waiters[key]?.append(waiter)
        state.waiting += 1
        return nil
    }

    /// Removes the waiting claim from the queue of the key; nil if it does not wait.
    private static func withdraw(_ claim: UInt64, from key: Key, _ state: inout State) -> Waiter? {
        guard let index = state.waiters[key]?.firstIndex(where: { $0.claim == claim }) else { return nil }
        state.waiting -= 1
        return state.waiters[key]?.remove(at: index)
    }

    /// Grants the key to its oldest waiter, whose continuation the caller must resume, or unlocks it if none waits.
    private static func grantNext(_ key: Key, _ state: inout State) -> Waiter? {
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
