internal import GatewayCore
internal import Synchronization

/// Tokens that were good under one state of the keys, so that a client that calls again pays for a digest instead of all that
/// its token says. Only their digests are kept, and what they were good for; whether that still holds is asked each time.
///
/// Shared by all loops; each critical section is a look-up long, but for one in thousands, in which the older half goes. Bounded:
/// what was not presented for a while goes first.
final class VerifiedTokens: Sendable {
    /// What a good token is worth, and while.
    final class Entry: Sendable {
        let identity: Identity
        let key: TokenKey
        /// Whole seconds since the epoch, the leeway for clocks included.
        let period: Range<Int64>

        init(identity: Identity, key: TokenKey, period: Range<Int64>) {
            self.identity = identity
            self.key = key
            self.period = period
        }

        /// Whom it is good for now, if it still is.
        func identity(at now: WallTime) -> Identity? {
            period.contains(now.seconds) && key.isValid(at: now) ? identity : nil
        }
    }

    private struct Generations {
        var young: [SHA256.Digest: Entry] = [:]
        var old: [SHA256.Digest: Entry] = [:]
    }

    private let most: Int
    private let generations = Mutex(Generations())

    /// A memory of nothing.
    ///
    /// - Parameter most: how many tokens are remembered at most.
    init(most: Int = 16_384) { self.most = most }

    /// What is remembered of a token by its digest.
    func find(_ digest: SHA256.Digest) -> Entry? {
        generations.withLock { generations in
            if let entry = generations.young[digest] { return entry }
            guard let entry = generations.old.removeValue(forKey: digest) else { return nil }
            Self.insert(entry, digest, &generations, most)
            return entry
        }
    }

    /// Remembers a token that was good.
    func remember(_ entry: Entry, as digest: SHA256.Digest) {
        generations.withLock { Self.insert(entry, digest, &$0, most) }
    }

    /// How many tokens are remembered.
    var count: Int { generations.withLock { $0.young.count + $0.old.count } }

    private static func insert(_ entry: Entry, _ digest: SHA256.Digest, _ generations: inout Generations, _ most: Int) {
        if generations.young.count >= most / 2 {
            generations.old = generations.young
            generations.young = [:]
        }
        generations.young[digest] = entry
    }
}
