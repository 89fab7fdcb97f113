public import GatewayCore
internal import Synchronization

/// A cache of password verification results, so that a slow authenticator is not queried repeatedly.
///
/// An acceptance is cached for one minute, a rejection for ten. A device that keeps sending an old password therefore
/// costs little and locks no account. If several calls present the same credential concurrently, one queries the
/// authenticators and the others await its result. Shared by all event loops; each critical section takes some
/// look-ups.
public final class VerdictCache: Sendable {
    private struct State {
        var table: VerdictTable
        var underWay: [VerdictKey: Question] = [:]
        var generation: UInt64 = 0
    }

    private let state: Mutex<State>
    private let digester: KeyedDigester
    private let clocks: Clocks

    /// Creates an empty cache for this number of results.
    public init(clocks: Clocks, capacity: Int = 65_536) {
        self.clocks = clocks
        state = Mutex(State(table: VerdictTable(capacity: capacity)))
        var generator = SystemRandomNumberGenerator()
        digester = KeyedDigester(
            key: Secret((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }))
    }

    /// Clears the cache because authenticators or their files changed. Results of pending verifications will not be
    /// cached.
    public func forget() {
        state.withLock { state in
            state.generation += 1
            state.table.forgetAll()
            state.underWay = [:]
        }
    }

    /// Removes the results of one user, whose account was disabled, removed, or got a new password. Results of its
    /// pending verifications will not be cached.
    public func forget(_ user: UserName) {
        state.withLock { state in
            state.table.forget(user)
            state.underWay = state.underWay.filter { $0.key.user != user.text }
        }
    }

    /// The number of cached results, including expired ones.
    public var count: Int { state.withLock(\.table.count) }

    /// The result of a cache lookup.
    enum Finding {
        /// A result is cached.
        case remembered(VerdictTable.Verdict)
        /// A verification of the same credential is pending.
        case underWay(Question)
        /// The caller must start the verification and report its result under the key.
        case unknown(Question, VerdictKey?)
    }

    /// Looks up a password. On a miss the caller must start the returned verification, which other callers then await.
    func find(
        _ login: LoginName, _ password: Secret, of user: UserName?, by panel: AuthenticatorChain.Panel, from peer: Peer
    ) -> Finding {
        let generation = state.withLock(\.generation)
        let digest = digester.digest(
            Array(panel.name.utf8), withUnsafeBytes(of: generation.bigEndian) { Array($0) },
            Array((user?.text ?? "").utf8), Array(login.text.utf8), panel.dependsOnPeer ? peer.keyBytes : [],
            secret: password)
        // Without a digest (libcrypto failed) nothing is cached or shared.
        guard let digest else { return .unknown(Question(), nil) }
        let key = VerdictKey(user: VerdictKey.user(user, login: login), digest: digest)
        return state.withLock { state in
            if let verdict = state.table.verdict(for: key, now: clocks.monotonic().nanoseconds) {
                return .remembered(verdict)
            }
            if let question = state.underWay[key] { return .underWay(question) }
            let question = Question()
            // If the cache was cleared meanwhile, the key belongs to an old generation that is never looked up again.
            if state.generation == generation { state.underWay[key] = question }
            return .unknown(question, key)
        }
    }

    /// Completes a verification that `find` returned and caches its result, unless the entry was cleared meanwhile.
    ///
    /// - Parameter judgement: Nil if no authenticator was queried. Outages are not cached.
    func complete(_ question: Question, _ key: VerdictKey?, _ judgement: Judgement?) {
        guard let key else { return }
        state.withLock { state in
            guard state.underWay[key] === question else { return }
            state.underWay[key] = nil
            let now = clocks.monotonic().nanoseconds
            switch judgement?.outcome {
            case .accepted(let identity): state.table.accept(identity, for: key, now: now)
            case .rejected(let reason): state.table.reject(reason, by: judgement?.judge, for: key, now: now)
            case .notMine, .unavailable, nil: break
            }
        }
    }
}
