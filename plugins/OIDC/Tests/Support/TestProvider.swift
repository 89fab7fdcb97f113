import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Synchronization

@testable import OIDC

/// A provider on this machine, whose responses a test scripts.
final class TestProvider: Sendable {
    struct State: Sendable {
        var keys = Forge.keys
        /// The response to every request instead of the documents.
        var steps: [ScriptedServer.Step]?
        /// Returns the discovery document for the provider's URL.
        var discovery: @Sendable (String) -> String = { #"{"issuer":"\#($0)","jwks_uri":"\#($0)/keys"}"# }
        /// Returns the response to a code.
        var redemption: @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step] = { _ in [] }
    }

    let state = Mutex(State())
    let clock = ManualClock(wall: .test)
    private let started = Mutex<ScriptedServer?>(nil)
    private let scheme: String

    private init(_ scheme: String) { self.scheme = scheme }

    static func start(
        scheme: String = "http",
        through prepare: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void = { _ in }
    ) async throws -> TestProvider {
        let provider = TestProvider(scheme)
        let server = try await ScriptedServer.start(through: prepare) { provider.steps(for: $0) }
        provider.started.withLock { $0 = server }
        return provider
    }

    /// The server. It is started before a test gets the provider.
    var server: ScriptedServer {
        guard let server = started.withLock({ $0 }) else { fatalError("the provider is not started") }
        return server
    }

    var issuer: String { "\(scheme)://\(scheme == "https" ? "localhost" : "127.0.0.1"):\(server.port)" }

    private func steps(for request: ScriptedServer.Request) -> [ScriptedServer.Step] {
        let state = state.withLock { $0 }
        if let steps = state.steps { return steps }
        switch request.line {
        case "GET /.well-known/openid-configuration HTTP/1.1":
            return [.write(ScriptedServer.ok(state.discovery(issuer)))]
        case "GET /keys HTTP/1.1": return [.write(ScriptedServer.ok(state.keys))]
        case "POST /token HTTP/1.1": return state.redemption(request)
        default: return [.write(ScriptedServer.response("404 Not Found"))]
        }
    }

    func setKeys(_ keys: [String]) { state.withLock { $0.keys = Forge.set(keys) } }

    func respond(_ steps: [ScriptedServer.Step]?) { state.withLock { $0.steps = steps } }

    /// Makes the provider's authenticator, without its timer: tests call `refreshIfDue()`.
    func authenticator(
        isLast: Bool = true, clocks: Clocks? = nil, _ change: (inout OIDCPlugin.Settings) -> Void = { _ in }
    ) async throws -> OIDCAuthenticator {
        var settings = OIDCPlugin.Settings(issuer: issuer, audience: "notify")
        settings.algorithms = [.rs256, .es256]
        change(&settings)
        let context = PluginContext.test(clocks: clocks ?? clock.clocks, isLastOfItsKind: isLast)
        let authorities: TrustedAuthorities?
        if let file = settings.authorities {
            authorities = try await TrustedAuthorities.read(file, context: context)
        } else {
            authorities = nil
        }
        let keys = ProviderKeys(
            KeyClient(settings, authorities), ClaimRules(settings: settings, names: context.names), context)
        await keys.refresh()
        let codeFlow = settings.login.map { CodeFlow($0, issuer: issuer, authorities, context) }
        return OIDCAuthenticator(keys, codeFlow: codeFlow, context: context)
    }

    /// Returns a token of the provider, issued now and valid for seven days.
    func token(
        _ kid: String? = "k1", key: TestKey = .rsa, header: String? = nil, issued: Int64? = nil,
        _ changes: [String: String] = [:]
    ) -> String {
        let now = issued ?? clock.clocks.wall().seconds
        let claims = ["iss": "\"\(issuer)\"", "iat": "\(now)", "exp": "\(now + 7 * 86_400)"].merging(changes) { $1 }
        return Forge.token(
            key.kind == .rsa ? .rs256 : .es256, kid: kid, header: header, claims: Forge.claims(claims), key: key)
    }
}
