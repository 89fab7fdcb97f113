import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization

@testable import OIDC

/// A provider at which users log in through their browser, and the gateway's side of a login.
struct TestLogin {
    static let redirectURI = "https://console.example.com/login/callback"

    let provider: TestProvider

    static func start() async throws -> TestLogin {
        let provider = try await TestProvider.start()
        provider.state.withLock { $0.discovery = { Self.discovery($0) } }
        return TestLogin(provider: provider)
    }

    /// Returns the discovery document of an issuer. `extra` are further members.
    static func discovery(_ issuer: String, token: String? = nil, extra: String = "") -> String {
        #"{"issuer":"\#(issuer)","jwks_uri":"\#(issuer)/keys","authorization_endpoint":"\#(issuer)/login","#
            + #""token_endpoint":"\#(token ?? issuer + "/token")"\#(extra)}"#
    }

    /// Makes the authenticator of the client `console`.
    func authenticator(
        secret: String? = nil, _ change: (inout OIDCPlugin.Settings) -> Void = { _ in }
    ) async throws -> OIDCAuthenticator {
        try await provider.authenticator { settings in
            settings.login = .init(client: "console", secretFile: secret)
            change(&settings)
        }
    }

    /// Makes the provider respond to each code with an ID token of these claims.
    func redeem(_ changes: [String: String] = [:], key: TestKey = .rsa, kid: String? = "k1", header: String? = nil) {
        let claims = ["aud": "\"console\"", "nonce": "\"n-1\""].merging(changes) { $1 }
        let token = provider.token(kid, key: key, header: header, claims)
        respond(ScriptedServer.ok(#"{"access_token":"a","token_type":"Bearer","id_token":"\#(token)"}"#))
    }

    /// Makes the provider respond to each code with a text.
    func respond(_ response: String) { respond([.write(response)]) }

    func respond(_ steps: [ScriptedServer.Step]) {
        provider.state.withLock { $0.redemption = { _ in steps } }
    }

    static func request(requiresNewProof: Bool = false) -> BrowserLoginRequest {
        BrowserLoginRequest(
            redirectURI: redirectURI, state: "s-1", nonce: "n-1", codeChallenge: "challenge",
            requiresNewProof: requiresNewProof)
    }

    static func response(issuer: String? = nil, provedSince: WallTime? = nil) -> BrowserLoginResponse {
        BrowserLoginResponse(
            code: Secret("c/1 &".utf8), issuer: issuer, verifier: Secret("verifier".utf8), nonce: "n-1",
            redirectURI: redirectURI, provedSince: provedSince)
    }

    /// The bodies of the requests with a code.
    var forms: [String] {
        provider.server.seen.filter { $0.target == "/token" }.map { String(decoding: $0.body, as: UTF8.self) }
    }
}

extension OIDCAuthenticator {
    /// Completes a login and returns the outcome without the reference of the ID token.
    func complete(_ response: BrowserLoginResponse = TestLogin.response()) async -> AuthenticationOutcome {
        let outcome = await completeLogin(response)
        guard case .accepted(let user) = outcome else { return outcome }
        return .accepted(Identity(user: user.user, groups: user.groups, authenticator: user.authenticator))
    }
}
