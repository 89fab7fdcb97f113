internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// A cache of tokens that were verified with one version of the keys. A repeated token costs one digest instead of a
/// full verification. The cache holds the digests of tokens and their identities; callers check the validity period
/// at each look-up.
///
/// All event loops share the cache. Each critical section is one look-up; one in thousands also discards the older
/// half. The size is bounded, and tokens that were not presented recently are discarded first.
final class VerifiedTokenCache: Sendable {
    /// The identity of a verified token and its validity period.
    final class Entry: Sendable {
        let identity: Identity
        let key: TokenKey
        /// Whole seconds since the epoch, widened by the clock skew.
        let period: Range<Int64>

        init(identity: Identity, key: TokenKey, period: Range<Int64>) {
            self.identity = identity
            self.key = key
            self.period = period
        }

        /// Returns the identity if the token and its key are valid now.
        func identity(at now: WallTime) -> Identity? {
            period.contains(now.seconds) && key.isValid(at: now) ? identity : nil
        }
    }

    private struct Generations {
        var young: [SHA256.Digest: Entry] = [:]
        var old: [SHA256.Digest: Entry] = [:]
    }

    private let capacity: Int
    private let generations = Mutex(Generations())

    /// Creates an empty cache.
    ///
    /// - Parameter capacity: the greatest number of cached tokens.
    init(capacity: Int = 16_384) { self.capacity = capacity }

    /// Returns the cached entry for the digest of a token.
    func find(_ digest: SHA256.Digest) -> Entry? {
        generations.withLock { generations in
            if let entry = generations.young[digest] { return entry }
            guard let entry = generations.old.removeValue(forKey: digest) else { return nil }
            Self.insert(entry, digest, &generations, capacity)
            return entry
        }
    }

    /// Caches a token that was verified.
    func remember(_ entry: Entry, as digest: SHA256.Digest) {
        generations.withLock { Self.insert(entry, digest, &$0, capacity) }
    }

    /// The number of cached tokens.
    var count: Int { generations.withLock { $0.young.count + $0.old.count } }

    private static func insert(
        _ entry: Entry, _ digest: SHA256.Digest, _ generations: inout Generations, _ capacity: Int
    ) {
        if generations.young.count >= capacity / 2 {
            generations.old = generations.young
            generations.young = [:]
        }
        generations.young[digest] = entry
    }
}
