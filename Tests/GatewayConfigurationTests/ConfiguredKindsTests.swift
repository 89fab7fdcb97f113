import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import NIOPosix
import Testing

@testable import GatewayConfiguration

@Suite("Configured credential kinds")
struct ConfiguredKindsTests {
    private func assembly(_ authenticators: String) throws -> AuthenticatorAssembly {
        let (configuration, problems) = ConfigurationFile.read(
            "authenticators: [\(authenticators)]\nbackend: { url: embedded }\npolicy: { send: [] }\n",
            file: "gateway.yaml", directory: "", catalog: PluginCatalog([KindsPlugin.self, FixedPlugin.self]))
        let plugins = try #require(configuration, "\(problems)").authenticators
        return AuthenticatorAssembly(
            plugins: plugins, names: NameRules(), pool: BlockingPool(threads: .singleton, capacity: 1), clocks: .system,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    @Test(
        "A 401 response has a challenge for each configured credential kind and no other",
        arguments: [
            ("{ kinds: {} }", ["Basic", "Bearer"]),
            ("{ kinds: { kinds: [bearer] } }", ["Bearer"]),
            ("{ kinds: { kinds: [password] } }", ["Basic"]),
            ("{ kinds: { kinds: [bearer] } }, { fixed: {} }", ["Basic", "Bearer"]),
        ])
    func challenges(_ authenticators: String, _ schemes: [String]) async throws {
        let chain = try await assembly(authenticators).make(revocations: EmptyRevocationList()).chain
        let gateway = TestGateway { $0.authenticators = chain }
        let answer = await gateway.serve(ReceivedRequest("GET /auth/whoami"))
        #expect(answer.status == 401)
        let challenges = answer.values("WWW-Authenticate")
        #expect(challenges.compactMap { $0.split(separator: " ").first.map(String.init) } == schemes)
    }

    @Test(
        "An authenticator is the last of its kind if no later one is configured for that kind",
        arguments: [
            ("{ fixed: {} }, { kinds: { kinds: [bearer] } }", ["last: true"]),
            ("{ kinds: { kinds: [bearer] } }, { kinds: { kinds: [password] } }", ["last: true", "last: true"]),
            ("{ kinds: { kinds: [bearer] } }, { kinds: {} }", ["last: false", "last: true"]),
            ("{ kinds: { kinds: [bearer] } }, { fixed: {} }", ["last: true"]),
            ("{ kinds: {} }, { fixed: {} }", ["last: false"]),
        ])
    func last(_ authenticators: String, _ messages: [String]) async throws {
        let found = try await assembly(authenticators).problems().map(\.message)
        #expect(found.filter { $0.hasPrefix("last: ") } == messages)
    }
}

/// An authenticator of the configured kinds. It reports by a warning whether it is the last of its kind.
private enum KindsPlugin: AuthenticatorPlugin {
    static let name: PluginName = "kinds"
    static let credentialKinds: Set<CredentialKind> = [.password, .bearer]
    static let accountStatusSupport = AccountStatusSupport.status
    static func credentialKinds(_ settings: DelegationSettings) -> Set<CredentialKind> { settings.kinds }

    static func readSettings(_ reader: ConfigurationReader) -> DelegationSettings? { DelegationSettings(reader) }

    static func problems(in settings: DelegationSettings, context: PluginContext) async -> [ConfigurationProblem] {
        [
            ConfigurationProblem(
                at: SourceLocation(file: ""), path: "", "last: \(context.isLastOfItsKind)", severity: .warning)
        ]
    }

    static func makeAuthenticator(
        _ settings: DelegationSettings, context: PluginContext
    ) async throws -> any Authenticator { ScriptedAuthenticator(always: .rejected(.wrong)) }
}
