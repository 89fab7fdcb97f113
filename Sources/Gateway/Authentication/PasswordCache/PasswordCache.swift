public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// A cache of password verification results, so that a slow authenticator is not queried repeatedly.
///
/// An acceptance is cached for one minute, a rejection for ten. A device that keeps sending an old password therefore
/// costs little and locks no account. A password without a result is queried about again, but charged once in ten minutes:
/// devices that repeat it during an outage lock out nobody. If several calls present the same credential concurrently, one queries the
/// authenticators and the others await its result. Shared by all event loops; each critical section makes a
/// few table look-ups.
public final class PasswordCache: Sendable {
    private struct State {
        var table: PasswordCacheTable
        var inProgress: [PasswordCacheKey: PendingVerification] = [:]
        var generation: UInt64 = 0
    }

    private let state: Mutex<State>
    private let digester: KeyedDigester
    private let clocks: Clocks

    /// Creates an empty cache.
    ///
    /// - Parameter capacity: The maximum number of cached results.
    public init(clocks: Clocks, capacity: Int = 65_536) {
        self.clocks = clocks
        state = Mutex(State(table: PasswordCacheTable(capacity: capacity)))
        digester = KeyedDigester(key: Secret(RandomBytes.make(32)))
    }

    /// Clears the cache because authenticators or their files changed. Results of pending verifications will not be
    /// cached.
    public func removeAll() {
        state.withLock { state in
            state.generation += 1
            state.table.removeAll()
            state.inProgress = [:]
        }
    }

    /// Removes the results of one user, whose account was disabled, removed, or got a new password. Results of its
    /// pending verifications will not be cached.
    public func removeAll(of user: UserName) {
        state.withLock { state in
            state.table.removeAll(of: user)
            state.inProgress = state.inProgress.filter { $0.key.user != user.text }
        }
    }

    /// The number of cached results, including expired ones. For tests of the bound.
    public var count: Int { state.withLock(\.table.count) }

    /// The result of a cache look-up.
    enum Lookup {
        /// An acceptance is cached.
        case accepted(Identity)
        /// A rejection is cached.
        case rejected(InvalidCredentialReason, by: PluginName?)
        /// A verification of the same credential is pending.
        case inProgress(PendingVerification)
        /// The caller must start the verification and report its result under the key.
        case unknown(PendingVerification, PasswordCacheKey?)
    }

    /// Looks up a password. On a miss the caller must start the returned verification, which other callers then await.
    func find(
        _ login: LoginName, _ password: Secret, of user: UserName?, by candidates: AuthenticatorChain.Candidates,
        from peer: Peer
    ) -> Lookup {
        let generation = state.withLock(\.generation)
        let digest = digester.digest(
            Array(candidates.name.utf8), withUnsafeBytes(of: generation.bigEndian) { Array($0) },
            Array((user?.text ?? "").utf8), Array(login.text.utf8), candidates.dependsOnPeer ? peer.keyBytes : [],
            secret: password)
        // Without a digest (libcrypto failed) nothing is cached or shared.
        guard let digest else { return .unknown(PendingVerification(), nil) }
        let key = PasswordCacheKey(user: user, digest: digest)
        return state.withLock { state in
            var charges: [LoginThrottle.Charge] = []
            switch state.table.result(for: key, now: clocks.sinceBoot().nanoseconds) {
            case .accepted(let identity): return .accepted(identity)
            case .rejected(let reason, let authenticator): return .rejected(reason, by: authenticator)
            case .undecided(let paid): charges = paid
            case nil: break
            }
            if let pending = state.inProgress[key] { return .inProgress(pending) }
            let pending = PendingVerification(paid: charges)
            // If the cache was cleared meanwhile, the key belongs to an old generation that is never looked up again.
            if state.generation == generation { state.inProgress[key] = pending }
            return .unknown(pending, key)
        }
    }

    /// Completes a verification that `find` returned and caches its result, unless the entry was cleared meanwhile.
    ///
    /// - Parameters:
    ///   - verification: Nil if no authenticator was queried.
    ///   - charge: The charge of the password. It is remembered if the password may have been verified without a result.
    func complete(
        _ pending: PendingVerification, _ key: PasswordCacheKey?, _ verification: VerificationResult?,
        _ charge: LoginThrottle.Charge? = nil
    ) {
        guard let key else { return }
        state.withLock { state in
            guard state.inProgress[key] === pending else { return }
            state.inProgress[key] = nil
            let now = clocks.sinceBoot().nanoseconds
            switch verification?.outcome {
            case .accepted(let identity): state.table.accept(identity, for: key, now: now)
            case .rejected(let reason): state.table.reject(reason, by: verification?.authenticator, for: key, now: now)
            case .unavailable(let reason) where reason.mayHaveVerified:
                if let charge { state.table.remember(charge, for: key, now: now) }
            case .notMine, .unavailable, nil: break
            }
        }
    }
}
