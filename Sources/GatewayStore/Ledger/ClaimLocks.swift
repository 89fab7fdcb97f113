internal import GatewayCore

/// The exclusive claims of calls on device handles and registrations: locks in memory, and rows in the store if several
/// gateways use it.
///
/// The lock is acquired first. Therefore at most one call of this gateway for each key waits for another gateway, and the
/// others wait for it in the order of their requests. Every claim acquires its handle before its registration, on all
/// gateways, so no two calls wait for each other.
final class ClaimLocks: Sendable {
    /// Waits for a duration. Throws if the task is cancelled.
    typealias Pause = @Sendable (Duration) async throws -> Void

    /// The first pause between two attempts to acquire a key that another gateway has. Each further one is twice as long.
    static let firstPause = Duration.milliseconds(5)
    /// The longest pause between two attempts.
    static let longestPause = Duration.milliseconds(100)
    /// The total of the pauses after which a call fails.
    static let patience = Duration.seconds(10)

    private let locks: KeyLocks
    private let shared: (any SharedClaims)?
    private let pause: Pause

    /// Creates the claims of a ledger.
    ///
    /// - Parameter shared: The claims that exclude other gateways; nil if there are none.
    init(_ locks: KeyLocks, shared: (any SharedClaims)?, pause: @escaping Pause) {
        self.locks = locks
        self.shared = shared
        self.pause = pause
    }

    /// Waits as long as the duration on the system's clock.
    static let sleep: Pause = { try await Task.sleep(for: $0) }

    /// Whether other gateways use the ledger, so that it may change at any time except for what is claimed.
    var isShared: Bool { shared != nil }

    /// The number of claims that wait for another call of this gateway. For tests.
    var waiting: Int { locks.waiting }

    /// The number of keys that calls of this gateway hold. For tests.
    var heldKeys: Int { locks.heldKeys }

    /// Returns a new claim that holds nothing. The caller must call `releaseAll(_:)` for it.
    ///
    /// - Parameter isRevoked: Returns whether the credential of the claim's caller was revoked.
    func makeClaim(_ isRevoked: (@Sendable () -> Bool)? = nil) -> UInt64 { locks.makeClaim(isRevoked) }

    /// Returns whether a claim of this gateway holds the key.
    func isHeld(_ key: KeyLocks.Key) -> Bool { locks.isHeld(key) }

    /// Acquires the key for the claim if no claim holds it. Does not wait for a claim. A key that another gateway has is
    /// busy, even if the caller there is revoked.
    func tryAcquire(_ key: KeyLocks.Key, for claim: UInt64) async throws(LedgerUnavailable) -> KeyLocks.AcquireResult {
        let result = locks.tryAcquire(key, for: claim)
        guard result == .acquired, let shared, try await !shared.tryAcquire(key, for: claim) else { return result }
        locks.release(key, of: claim)
        return .busy
    }

    /// Acquires the key for the claim, after all earlier waiters of this gateway. A claim must not request a key that it
    /// holds.
    ///
    /// Throws if too many claims wait, if another gateway holds the key for too long, or if the task is cancelled.
    func acquire(_ key: KeyLocks.Key, for claim: UInt64) async throws(LedgerUnavailable) {
        try await locks.acquire(key, for: claim)
        guard let shared else { return }
        var waited = Duration.zero
        var next = Self.firstPause
        while try await !shared.tryAcquire(key, for: claim) {
            guard waited < Self.patience else {
                throw LedgerUnavailable(
                    "another gateway works on the device or registration for too long", isFull: true)
            }
            do { try await pause(next) } catch { throw KeyLocks.cancelled }
            waited += next
            next = min(next * 2, Self.longestPause)
        }
    }

    /// Releases one key of the claim to the next waiter.
    func release(_ key: KeyLocks.Key, of claim: UInt64) {
        shared?.release(key, of: claim)
        locks.release(key, of: claim)
    }

    /// Releases all keys of the claim. Callable on any thread; has no effect on a claim that has ended.
    func releaseAll(_ claim: UInt64) {
        shared?.releaseAll(claim)
        locks.releaseAll(claim)
    }

    // MARK: Transactions

    /// Returns whether no other gateway can have taken over the claim. Otherwise only `check` tells.
    func isCertain(_ claim: UInt64) -> Bool { shared?.isCertain(claim) ?? true }

    /// Checks within a transaction that no other gateway has taken over the claim, and keeps others from doing so until it
    /// ends.
    func check(_ claim: UInt64, _ tables: LedgerTables) throws { try shared?.check(claim, tables) }

    /// Ends the claim within a transaction. Throws, and the transaction must write nothing, if another gateway has taken it
    /// over. After the commit the caller calls `forget`.
    func remove(_ claim: UInt64, _ tables: LedgerTables) throws { try shared?.remove(claim, tables) }

    /// Forgets what a committed transaction has removed. The claim's locks stay.
    func forget(_ claim: UInt64) { shared?.forget(claim) }

    /// Stores the renewal and ends the claim in the store. The claim's locks stay.
    ///
    /// - Returns: Whether it was stored. If not, it must be written like any other change.
    func renew(
        _ id: RegistrationID, _ renewal: RenewalBuffer.Renewal, limit: Int, for claim: UInt64
    ) async -> Bool {
        await shared?.renew(id, renewal, limit: limit, for: claim) ?? false
    }
}
