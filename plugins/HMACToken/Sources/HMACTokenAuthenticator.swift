public import GatewayCore
public import GatewaySupport
internal import Logging
internal import Synchronization

/// The authenticator that verifies bearer tokens against the key file.
///
/// Verifying a token takes some microseconds, so it runs on the caller's thread and suspends only for a session that may
/// have begun at another gateway.
public final class HMACTokenAuthenticator: ReloadableAuthenticator {
    /// The verifier and the signer for one version of the key file.
    private struct Keys {
        let ring: KeyRing
        let verifier: TokenVerifier
        let signer: TokenSigner

        init(_ ring: KeyRing, settings: HMACTokenPlugin.Settings, names: NameRules) {
            self.ring = ring
            verifier = TokenVerifier(ring, settings: settings, names: names)
            signer = TokenSigner(ring, settings: settings)
        }
    }

    private let settings: HMACTokenPlugin.Settings
    private let context: PluginContext
    private let keys: Mutex<Keys>
    /// The state of a changed file that takes a key away.
    private let settling = Mutex(FileSettling())

    init(_ ring: KeyRing, settings: HMACTokenPlugin.Settings, context: PluginContext) {
        self.settings = settings
        self.context = context
        keys = Mutex(Keys(ring, settings: settings, names: context.names))
    }

    /// Verifies a token. Waits only for a session that may have begun at another gateway a moment ago.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        if let outcome = verify(credential) { return outcome }
        guard await context.revocations.refresh() else { return .unavailable(.unreachable) }
        return verify(credential, isRefreshed: true) ?? .unavailable(.unreachable)
    }

    /// False: only a token with a valid signature may wait.
    public var queriesServiceForTokens: Bool { false }

    /// Verifies a token as `authenticate` does, but synchronously, which saves most calls the cost of an async call.
    public func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? {
        verify(credential)
    }

    /// Returns nil if it is not known yet whether the session of the token has begun.
    private func verify(_ credential: Credential, isRefreshed: Bool = false) -> AuthenticationOutcome? {
        guard case .bearer(let token) = credential else { return .notMine }
        // The lock is held only to copy a reference.
        let verifier = keys.withLock { $0.verifier }
        switch verifier.verify(token, at: context.clocks.wall()) {
        case .accepted(let identity):
            if let token = identity.token, context.revocations.isRevoked(token, of: identity.user) {
                if !isRefreshed, context.revocations.mayHaveBegunElsewhere(token) { return nil }
                // The session may have become known between the two questions.
                if context.revocations.isRevoked(token, of: identity.user) { return .rejected(.revoked) }
            }
            return .accepted(identity)
        case .rejected(let reason): return .rejected(reason)
        case .foreign(let reason): return context.isLastOfItsKind ? .rejected(reason) : .notMine
        case .undecided: return .unavailable(.failed)
        }
    }

    /// The key file.
    public var files: [String] { [settings.keys] }

    /// Reads the key file again. If the file is valid, later tokens are verified with it. If not, the current keys
    /// stay in force, each until its own expiry, and the problems are returned.
    ///
    /// A file without a key that it had takes effect once enough reloads in a row find the same version
    /// (``FileSettling``). Until then a problem is returned, so the caller tries again.
    public func reload() async -> [ConfigurationProblem] {
        do {
            let ring = try await KeyRing.load(settings.keys, context: context)
            let losses = ring.losses(since: keys.withLock(\.ring))
            guard settling.withLock({ $0.counts(ring.version, losses: losses) }) else {
                return [
                    FileSettling.problem(
                        of: settings.keys, "removes or changes \(losses) key\(losses == 1 ? "" : "s")")
                ]
            }
            let fresh = Keys(ring, settings: settings, names: context.names)
            keys.withLock { $0 = fresh }
            context.logger.info("Token keys reloaded", metadata: ["keys": "\(ring.keys.map(\.id))"])
            return []
        } catch {
            settling.withLock { _ = $0.counts(nil, losses: 0) }
            return error.problems
        }
    }
}

extension HMACTokenAuthenticator: InspectingAuthenticator {
    /// Returns the user of a token that this gateway, or another holder of its keys, has signed.
    public func user(ofRejected token: Secret) -> UserName? {
        let verifier = keys.withLock(\.verifier)
        return token.withBytes { CompactToken($0) }.flatMap { verifier.user(of: $0, at: context.clocks.wall()) }
    }

    /// Decodes a token, and verifies it without the cache of verified tokens.
    public func inspect(_ token: Secret) async -> TokenInspection? {
        let verifier = keys.withLock(\.verifier)
        guard let token = token.withBytes({ CompactToken($0) }) else {
            return context.isLastOfItsKind ? TokenInspection(result: TokenValidationError.malformed.result) : nil
        }
        let result: TokenInspection.Result
        do throws(TokenValidationError) {
            result = .valid(try verifier.identity(of: token, at: context.clocks.wall()))
        } catch {
            if !context.isLastOfItsKind, case .foreign = verifier.verdict(on: error, in: token) { return nil }
            result = error.result
        }
        return TokenInspection(header: token.header()?.members, claims: token.claims(), result: result)
    }
}

extension TokenValidationError {
    fileprivate var result: TokenInspection.Result {
        self == .failed ? .undecided(.failed, detail: description) : .invalid(reason, detail: description)
    }
}

extension HMACTokenAuthenticator: TokenIssuer {
    /// The configured session lifetime.
    public var sessionLifetime: Duration { settings.session }

    /// Issues a token of the session with the first key that is valid now and allowed to issue tokens.
    public func issue(
        for user: UserName, groups: Set<GroupName>, in session: Session, now: WallTime
    ) throws(TokenIssueError) -> IssuedToken {
        let signer = keys.withLock(\.signer)
        do throws(TokenSigner.Fault) {
            return try signer.issue(subject: user, groups: groups, in: session, now: now)
        } catch {
            switch error {
            case .noKey, .failed: throw TokenIssueError("\(error)", isTemporary: true)
            case .sessionOver, .lifetime, .keyNotAuthorized, .tooLong:
                throw TokenIssueError("\(error)", isTemporary: false)
            }
        }
    }
}
