internal import Gateway
internal import GatewayCore

/// An authenticator whose verdicts are remembered: what it said before it read its files again is forgotten.
struct CachedAuthenticator: ReloadableAuthenticator {
    private let authenticator: any ReloadableAuthenticator
    private let passwordCache: PasswordCache

    init(_ authenticator: any ReloadableAuthenticator, remembered passwordCache: PasswordCache) {
        self.authenticator = authenticator
        self.passwordCache = passwordCache
    }

    var files: [String] { authenticator.files }

    func reload() async -> [ConfigurationProblem] {
        let problems = await authenticator.reload()
        // Where the files are broken it goes on as before, and what it said still holds.
        if problems.isEmpty { passwordCache.forget() }
        return problems
    }

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        await authenticator.authenticate(credential, from: peer)
    }

    func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? {
        authenticator.immediateOutcome(on: credential, from: peer)
    }
}
