import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayServer

@Suite("Password cache and reloads")
struct CachedAuthenticatorTests {
    @Test("A successful reload clears the password cache, and a failed one does not")
    func reloads() async {
        let clock = ManualClock()
        let authenticator = FileBound()
        let passwordCache = PasswordCache(clocks: clock.clocks)
        let remembered = CachedAuthenticator(authenticator, remembered: passwordCache)
        let gateway = TestGateway { rules in
            rules.passwordCache = passwordCache
            rules.authenticators = AuthenticatorChain([
                .init(name: "files", credentialKinds: [.password], authenticator: authenticator)
            ])
        }
        let request = ReceivedRequest("GET /auth/whoami", as: "alice")
        #expect(await gateway.serve(request).status == 200)
        authenticator.disable(broken: true)
        #expect(await remembered.reload().count == 1)
        #expect(await gateway.serve(request).status == 200)
        authenticator.disable(broken: false)
        #expect(await remembered.reload().isEmpty)
        #expect(await gateway.serve(request).status == 401)
        #expect(remembered.files == ["users.yaml"])
    }
}

/// An authenticator that accepts alice until the test disables her.
private final class FileBound: ReloadableAuthenticator {
    private let state = Mutex((isDisabled: false, isBroken: false))

    var files: [String] { ["users.yaml"] }

    func disable(broken: Bool) { state.withLock { $0 = (true, broken) } }

    func reload() async -> [ConfigurationProblem] {
        state.withLock(\.isBroken)
            ? [ConfigurationProblem(at: SourceLocation(file: "users.yaml"), path: "", "is broken")] : []
    }

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        if state.withLock(\.isDisabled) { return .rejected(.disabled) }
        return .accepted(Identity(user: UserName(canonical: "alice")!, authenticator: "files"))
    }
}
