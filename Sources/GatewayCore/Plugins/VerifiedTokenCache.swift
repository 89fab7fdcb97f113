public import GatewaySupport
internal import Synchronization

/// A cache of tokens that were verified with one version of the keys. A repeated token costs one digest instead of a
/// full verification. The cache holds the digests of tokens and their identities; callers check the validity period
/// at each look-up.
///
/// A cached token of `hmac-token` takes 0.5 µs and 2 allocations (`verify-a-token-same-one` and
/// `verify-a-token-1000-in-turn` in `Tests/Benchmarks/Micro/Thresholds`); a token that is not cached takes about the
/// 4.1 µs and 30 allocations of `verify-a-forged-token`, and a token with an RSA or ECDSA signature much more. A whole
/// send with a cached token takes 7.4 µs and 24 allocations (`serve-a-send`).
///
/// All event loops share the cache. Each critical section is one look-up. The size is bounded, and tokens that were not
/// presented recently are discarded first.
public final class VerifiedTokenCache: Sendable {
    /// The identity of a verified token and its validity period.
    public struct Entry: Sendable {
        /// The identity that the token proves.
        public let identity: Identity
        /// The time in which the token and its key are valid, with the accepted difference between clocks.
        public let period: Range<WallTime>

        /// Creates an entry.
        public init(identity: Identity, period: Range<WallTime>) {
            self.identity = identity
            self.period = period
        }

        /// Returns the identity if the token and its key are valid now.
        public func identity(at now: WallTime) -> Identity? { period.contains(now) ? identity : nil }
    }

    private struct Key: OwnedKey {
        typealias Owner = SoleOwner
        let digest: SHA256.Digest
    }

    private let entries: Mutex<BoundedMap<Key, Entry>>

    /// Creates an empty cache.
    ///
    /// - Parameter capacity: The maximum number of cached tokens.
    public init(capacity: Int = 16_384) { entries = Mutex(BoundedMap(capacity: capacity)) }

    /// Returns the cached entry for the digest of a token.
    public func find(_ digest: SHA256.Digest) -> Entry? { entries.withLock { $0.refresh(Key(digest: digest)) } }

    /// Caches a token that was verified.
    public func remember(_ entry: Entry, as digest: SHA256.Digest) {
        entries.withLock { _ = $0.insert(entry, for: Key(digest: digest)) }
    }

    /// The number of cached tokens. For tests of the bound.
    package var count: Int { entries.withLock(\.count) }
}
