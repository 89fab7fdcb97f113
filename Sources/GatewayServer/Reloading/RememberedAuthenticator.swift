internal import Gateway
internal import GatewayCore

/// An authenticator whose verdicts are remembered: what it said before it read its files again is forgotten.
struct RememberedAuthenticator: ReloadableAuthenticator {
    private let authenticator: any ReloadableAuthenticator
    private let verdicts: VerdictCache

    init(_ authenticator: any ReloadableAuthenticator, remembered verdicts: VerdictCache) {
        self.authenticator = authenticator
        self.verdicts = verdicts
    }

    var files: [String] { authenticator.files }

    func reload() async -> [ConfigurationProblem] {
        let problems = await authenticator.reload()
        // Where the files are broken it goes on as before, and what it said still holds.
        if problems.isEmpty { verdicts.forget() }
        return problems
    }

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        await authenticator.authenticate(credential, from: peer)
    }

    func verdictAtOnce(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? {
        authenticator.verdictAtOnce(on: credential, from: peer)
    }
}
