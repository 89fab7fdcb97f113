internal import GatewayCore
internal import GatewaySupport
internal import Logging
internal import Synchronization

/// The authenticator that verifies tokens with the keys that it reads from the provider.
///
/// Verifying a token takes 20 to 100 microseconds, a repeated token less than one, so it runs on the caller's thread.
/// Only a token with an unknown key may wait, for a reading of the provider's keys.
final class OIDCAuthenticator: ProviderKeyReader {
    let keys: ProviderKeys
    let context: PluginContext
    let seenLogouts = SeenLogouts()
    /// The logins through a browser; nil if the configuration offers none.
    let codeFlow: CodeFlow?

    init(_ keys: ProviderKeys, codeFlow: CodeFlow? = nil, context: PluginContext) {
        self.keys = keys
        self.codeFlow = codeFlow
        self.context = context
    }

    func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? {
        guard case .bearer(let token) = credential else { return .notMine }
        let now = context.clocks.wall()
        return keys.verifyImmediately { $0.verify(token, at: now) }.map(result)
    }

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard case .bearer(let token) = credential else { return .notMine }
        let now = context.clocks.wall()
        return await keys.verify { $0.verify(token, at: now) }.map(result) ?? .unavailable(.busy)
    }

    /// False: the keys are read at most once in 30 s, whatever tokens are presented.
    var queriesServiceForTokens: Bool { false }

    var providerKeys: ProviderKeyStatus { keys.status }

    private func result(_ outcome: TokenVerifier.Outcome, _ current: ProviderKeys.Current) -> AuthenticationOutcome {
        guard case .unknownKey(let issued) = outcome else { return outcome.result(in: context) }
        return current.outcome(ofTokenIssued: issued)
    }
}

extension ProviderKeys.Current {
    /// Returns the outcome of a token whose key is unknown.
    func outcome(ofTokenIssued issued: WallTime) -> AuthenticationOutcome {
        // Without keys, or with keys that are older than the token, nobody can tell whether the key is the provider's.
        guard let read, !verifier.keys.keys.isEmpty else { return .unavailable(.unreachable) }
        return issued > read ? .unavailable(.unreachable) : .rejected(.untrusted)
    }
}

/// The authenticator that verifies tokens with the keys in a file.
final class OIDCFileAuthenticator: ReloadableAuthenticator {
    private let file: String
    let rules: ClaimRules
    let context: PluginContext
    let seenLogouts = SeenLogouts()
    let verifier: Mutex<TokenVerifier>

    init(_ keys: KeySet, file: String, settings: OIDCPlugin.Settings, context: PluginContext) {
        self.file = file
        self.context = context
        rules = ClaimRules(settings: settings, names: context.names)
        verifier = Mutex(TokenVerifier(keys, rules))
    }

    func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? { verify(credential) }

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { verify(credential) }

    private func verify(_ credential: Credential) -> AuthenticationOutcome {
        guard case .bearer(let token) = credential else { return .notMine }
        // The lock is held only to copy a reference.
        let outcome = verifier.withLock { $0 }.verify(token, at: context.clocks.wall())
        if case .unknownKey = outcome { return .rejected(.untrusted) }
        return outcome.result(in: context)
    }

    var files: [String] { [file] }

    /// Reads the file again. If it is invalid, the current keys stay in use and the problems are returned.
    func reload() async -> [ConfigurationProblem] {
        do {
            let keys = try await KeySetFile.load(file, context: context)
            let fresh = TokenVerifier(keys, rules)
            verifier.withLock { $0 = fresh }
            keys.report(to: context.logger, of: rules.settings.issuer)
            return []
        } catch {
            return error.problems
        }
    }
}

extension TokenVerifier.Outcome {
    /// Returns the result for the gateway. An unknown key is for the caller to decide, and counts as unavailable here.
    func result(in context: PluginContext) -> AuthenticationOutcome {
        switch self {
        case .accepted(let identity):
            if let token = identity.token, context.revocations.isRevoked(token, of: identity.user) {
                return .rejected(.revoked)
            }
            return .accepted(identity)
        case .rejected(.libcrypto): return .unavailable(.failed)
        case .rejected(let fault): return .rejected(fault.reason)
        case .foreign(let reason): return context.isLastOfItsKind ? .rejected(reason) : .notMine
        case .unknownKey: return .unavailable(.failed)
        }
    }
}
