import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("Scope and deadline of authenticators")
struct AuthenticatorScopeSettingsTests {
    private func read(_ authenticators: String, _ more: String = "") -> (ServerConfiguration?, [String]) {
        let (configuration, problems) = ConfigurationFile.read(
            "authenticators: [\(authenticators)]\nbackend: { url: embedded }\n"
                + "policy: { send: [{ from: \"*\", to: \"*\" }] }\n\(more)",
            file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self, TokenPlugin.self]))
        return (configuration, problems.map(\.description))
    }

    @Test("Each authenticator accepts the settings `users` and `groups`")
    func bounds() throws {
        let (configuration, problems) = read(#"fixed: { users: ["svc-*", alice], groups: [staff] }"#)
        #expect(problems.isEmpty)
        let bounds = try #require(configuration?.authenticators.first).scope
        #expect(bounds.users?.map(\.text) == ["svc-*", "alice"])
        #expect(bounds.groups == [GroupName("staff")!])
        #expect(read("fixed: {}").0?.authenticators.first?.scope == AuthenticatorScope())
    }

    @Test("An invalid name pattern or group is reported at its position")
    func mistakes() {
        #expect(
            read(#"fixed: { users: ["A?"], groups: ["a b"] }"#).1 == [
                "gateway.yaml:1:34: authenticators[0].fixed.users: \"A?\" is not a name pattern; use a-z 0-9 _ @ . - "
                    + "and *",
                "gateway.yaml:1:50: authenticators[0].fixed.groups: \"a b\" is not a group name",
            ])
        #expect(
            read("fixed: { users: [] }").1 == [
                "gateway.yaml:1:34: warning: authenticators[0].fixed.users: is empty; this authenticator accepts nobody"
            ])
        #expect(read("fixed: { users: alice }").1.count == 1)
    }

    @Test("Two authenticators that may accept the same name cause a warning, whatever credential kinds they take")
    func overlaps() {
        for (pair, warnings) in [
            ("{ fixed: {} }, { fixed: {} }", 1),
            (#"{ fixed: { users: ["svc-*"] } }, { fixed: {} }"#, 1),
            (#"{ fixed: { users: ["svc-*"] } }, { fixed: { users: ["svc-mail", alice] } }"#, 1),
            (#"{ fixed: { users: ["svc-*"] } }, { fixed: { users: [alice] } }"#, 0),
            ("{ fixed: {} }, { token: {} }", 1),
            (#"{ fixed: { users: [alice] } }, { token: { users: [bob] } }"#, 0),
            ("{ fixed: {} }, { fixed: {} }, { fixed: {} }", 3),
        ] {
            let problems = read(pair).1
            #expect(problems.count == warnings, "\(pair)")
            #expect(
                problems.allSatisfy {
                    $0.contains("warning") && $0.contains("authenticators[0].fixed") || warnings == 3
                })
        }
    }

    @Test("The authentication deadline defaults to 10 s and may be from 1 s to 60 s")
    func deadline() {
        #expect(read("fixed: {}").0?.authentication == AuthenticationRules())
        #expect(AuthenticationRules().deadline == .seconds(10))
        for (text, deadline) in [("1s", Duration.seconds(1)), ("1min", .seconds(60)), ("2500ms", .milliseconds(2500))] {
            let (configuration, problems) = read("fixed: {}", "authentication: { deadline: \(text) }")
            #expect(problems.isEmpty && configuration?.authentication.deadline == deadline)
        }
        for text in ["999ms", "61s", "0s", "10"] {
            #expect(read("fixed: {}", "authentication: { deadline: \(text) }").1.count == 1, "\(text)")
        }
    }
}

/// An authenticator of tokens without settings.
private enum TokenPlugin: AuthenticatorPlugin {
    static let name: PluginName = "token"
    static let credentialKinds: Set<CredentialKind> = [.bearer]
    static let accountStatusSupport = AccountStatusSupport.status

    static func readSettings(_ reader: ConfigurationReader) -> Bool? { true }
    static func problems(in settings: Bool, context: PluginContext) async -> [ConfigurationProblem] { [] }
    static func makeAuthenticator(_ settings: Bool, context: PluginContext) async throws -> any Authenticator {
        ScriptedAuthenticator(always: .rejected(.wrong))
    }
}
