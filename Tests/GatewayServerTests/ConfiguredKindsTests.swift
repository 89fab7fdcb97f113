import Gateway
import GatewayCore
import GatewayTesting
import Logging
import NIOPosix
import Testing

@testable import GatewayServer

@Suite("Kinds of credential that the configuration leaves to nobody")
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
        "A 401 challenges for the kinds that are taken, and for no others",
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
        "Whoever comes later and is left without the kind is not waited for",
        arguments: [
            ("{ fixed: {} }, { kinds: { kinds: [bearer] } }", ["last: true"]),
            ("{ kinds: { kinds: [bearer] } }, { kinds: { kinds: [password] } }", ["last: true", "last: true"]),
            ("{ kinds: { kinds: [bearer] } }, { kinds: {} }", ["last: false", "last: true"]),
            ("{ kinds: { kinds: [bearer] } }, { fixed: {} }", ["last: true"]),
            ("{ kinds: {} }, { fixed: {} }", ["last: false"]),
        ])
    func last(_ authenticators: String, _ messages: [String]) async throws {
        #expect(try await assembly(authenticators).problems().map(\.message) == messages)
    }

    @Test("Two that are left with different kinds may vouch for one name all the same")
    func overlap() {
        let text = """
            authenticators: [{ kinds: { kinds: [bearer] } }, { kinds: { kinds: [password] } }]
            backend: { url: embedded }
            policy: { send: [{ from: "*", to: "*" }] }
            """
        let problems = ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "", catalog: PluginCatalog([KindsPlugin.self])
        ).problems
        #expect(problems.map(\.severity) == [.warning])
    }
}

/// Takes what it is configured to take, and tells by a warning whether it is the last of its kind.
private enum KindsPlugin: AuthenticatorPlugin {
    static let name: PluginName = "kinds"
    static let takes: Set<CredentialKind> = [.password, .bearer]
    static let accountKnowledge = AccountStatusSupport.status
    static func takes(_ settings: DelegationSettings) -> Set<CredentialKind> { settings.kinds }

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
