internal import Gateway
internal import GatewayCore
internal import GatewaySupport

/// An authenticator that reads files and clears the password cache after it has reloaded them.
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
        // If the files are invalid, the authenticator keeps its state and the cached results remain valid.
        if problems.isEmpty { passwordCache.removeAll() }
        return problems
    }

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        await authenticator.authenticate(credential, from: peer)
    }

    func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? {
        authenticator.immediateOutcome(on: credential, from: peer)
    }
}
