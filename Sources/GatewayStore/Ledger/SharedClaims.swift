internal import GatewayCore

/// Claims that exclude those of the other gateways that use the same store. Each is a row that names the gateway.
///
/// The caller holds the lock of `KeyLocks` on a key before it acquires the claim, so a claim that this gateway still has
/// for the key is an earlier one. A gateway that other gateways take for dead loses its claims to them.
protocol SharedClaims: Sendable {
    /// Acquires the key unless another live gateway has it. Does not wait for that gateway.
    ///
    /// - Returns: Whether the claim holds the key now.
    func tryAcquire(_ key: KeyLocks.Key, for claim: UInt64) async throws(LedgerUnavailable) -> Bool

    /// Releases one key of the claim. Does not wait.
    func release(_ key: KeyLocks.Key, of claim: UInt64)

    /// Releases all keys of the claim. Does not wait; has no effect on a claim that holds none.
    func releaseAll(_ claim: UInt64)

    /// Returns whether no other gateway can have taken a key of the claim, on this gateway's own clock: the claim is some
    /// seconds old at most. Otherwise only `check` tells.
    func isCertain(_ claim: UInt64) -> Bool

    /// Checks that the claim still holds its keys, and keeps others from taking them until the transaction ends.
    ///
    /// - Throws: `LedgerUnavailable` if another gateway has taken one.
    func check(_ claim: UInt64, _ tables: LedgerTables) throws

    /// Removes the claim as a part of the transaction, which must write nothing if this throws. After the commit the
    /// caller calls `forget`.
    ///
    /// - Throws: `LedgerUnavailable` if another gateway has taken one of the keys.
    func remove(_ claim: UInt64, _ tables: LedgerTables) throws

    /// Forgets the keys of a claim that a committed transaction has removed.
    func forget(_ claim: UInt64)

    /// Stores when the registration was last seen and removes the claim, which holds the registration and its handle.
    ///
    /// A crash of the server loses at most the times of the last second.
    ///
    /// - Parameter limit: The maximum number of the owner's registrations.
    /// - Returns: Whether it was stored. If not, the claim is unchanged: the registration is not live any more, the owner
    ///   has more registrations, another transaction changes the row now, or the claim is lost.
    func renew(_ id: RegistrationID, _ renewal: RenewalBuffer.Renewal, limit: Int, for claim: UInt64) async -> Bool
}
