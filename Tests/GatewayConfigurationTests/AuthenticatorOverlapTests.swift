import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import NIOPosix
import Testing

@testable import GatewayConfiguration

@Suite("Authenticators of the same users")
struct AuthenticatorOverlapTests {
    private func read(_ authenticators: String) -> (ServerConfiguration?, [ConfigurationProblem]) {
        ConfigurationFile.read(
            "authenticators: [\(authenticators)]\nbackend: { url: embedded }\npolicy: { send: [] }\n",
            file: "gateway.yaml", directory: "",
            catalog: PluginCatalog([FixedPlugin.self, TokenPlugin.self, ListPlugin.self, VariablePlugin.self]))
    }

    private func warnings(_ authenticators: String) async throws -> [ConfigurationProblem] {
        let (configuration, problems) = read(authenticators)
        let plugins = try #require(configuration, "\(problems)").authenticators
        return await AuthenticatorAssembly(
            plugins: plugins, names: NameRules(), pool: BlockingPool(threads: .singleton, capacity: 1), clocks: .system,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        ).problems()
    }

    @Test(
        "Each two authenticators that may accept the same name cause a warning, whatever credential kinds they take",
        arguments: [
            ("{ fixed: {} }, { fixed: {} }", 1),
            (#"{ fixed: { users: ["svc-*"] } }, { fixed: {} }"#, 1),
            (#"{ fixed: { users: ["svc-*"] } }, { fixed: { users: ["svc-mail", alice] } }"#, 1),
            (#"{ fixed: { users: ["svc-*"] } }, { fixed: { users: [alice] } }"#, 0),
            ("{ fixed: {} }, { token: {} }", 1),
            (#"{ fixed: { users: [alice] } }, { token: { users: [bob] } }"#, 0),
            ("{ fixed: {} }, { fixed: {} }, { fixed: {} }", 3),
            // Lists count by their names.
            ("{ list: { names: [alice] } }, { list: { names: [bob] } }", 0),
            ("{ list: { names: [alice, bob] } }, { list: { names: [bob] } }", 1),
            ("{ list: { names: [alice] } }, { fixed: {} }", 1),
            ("{ list: { names: [] } }, { fixed: {} }", 0),
            (#"{ list: { names: [alice] } }, { fixed: { users: ["svc-*"] } }"#, 0),
            (#"{ list: { names: [alice, svc-mail] } }, { fixed: { users: ["svc-*"] } }"#, 1),
            (#"{ list: { names: [alice, svc-mail], users: [alice] } }, { fixed: { users: ["svc-*"] } }"#, 0),
        ])
    func overlaps(_ pair: String, _ count: Int) async throws {
        let problems = try await warnings(pair)
        #expect(problems.count == count)
        #expect(problems.allSatisfy { $0.severity == .warning })
    }

    @Test("A warning names the shared users, as far as they are known, and what to write")
    func messages() async throws {
        let patterns = try await warnings("{ fixed: {} }, { fixed: {} }")
        #expect(
            patterns.map(\.description) == [
                "gateway.yaml:1:42: warning: authenticators[1].fixed: may authenticate the same names as "
                    + "authenticators[0].fixed, which is queried first; equal names count as one user; limit both with "
                    + #""users" so that no name matches twice, such as users: ["svc-*"] for one of them"#
            ])
        let names = try await warnings("{ list: { names: [g, f, e, d, c, b, a] } }, { token: {} }")
        #expect(
            names.map(\.message) == [
                "may authenticate 7 names of authenticators[0].list too (a, b, c, d, e and 2 more); equal names count "
                    + #"as one user; limit authenticators[1].token with "users" to names that the file of the other does "#
                    + "not have"
            ])
        let later = try await warnings("{ fixed: {} }, { list: { names: [alice] } }")
        #expect(
            later.map(\.message) == [
                "has 1 name that authenticators[0].fixed may authenticate too (alice), which is queried first; equal "
                    + #"names count as one user; limit authenticators[0].fixed with "users" to names that this file does "#
                    + "not have"
            ])
    }

    @Test("Authenticators of one plug-in must agree on whether they report the status of accounts")
    func differentStatus() {
        let (configuration, problems) = read(
            "{ variable: { status: true } }, { fixed: {} }, { variable: { users: [alice] } }")
        #expect(configuration == nil)
        #expect(
            problems.filter { $0.severity == .error }.map(\.description) == [
                "gateway.yaml:1:77: authenticators[2].variable: and authenticators[0].variable must either both report the "
                    + "status of accounts or both not, because accounts are stored with the name variable alone"
            ])
        for pair in [
            "{ variable: {} }, { variable: {} }", "{ variable: { status: true } }, { variable: { status: true } }",
        ] {
            #expect(read(pair).1.allSatisfy { $0.severity == .warning })
        }
    }

    @Test("Only an authenticator whose settings leave the status unknown causes a warning")
    func withoutStatus() {
        #expect(read("{ variable: { status: true } }").1.isEmpty)
        let problems = read("{ variable: {} }").1
        #expect(problems.count == 1)
        #expect(problems.first?.message.hasPrefix("reports the status of an account only at a login") == true)
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

/// An authenticator with the users of the setting `names`.
private enum ListPlugin: AuthenticatorPlugin {
    static let name: PluginName = "list"
    static let credentialKinds: Set<CredentialKind> = [.password]
    static let accountStatusSupport = AccountStatusSupport.status

    static func readSettings(_ reader: ConfigurationReader) -> [String]? { reader.strings("names") ?? [] }
    static func problems(in settings: [String], context: PluginContext) async -> [ConfigurationProblem] { [] }
    static func listedUsers(in settings: [String], context: PluginContext) async -> Set<UserName>? {
        Set(settings.compactMap { UserName(canonical: $0) })
    }
    static func makeAuthenticator(_ settings: [String], context: PluginContext) async throws -> any Authenticator {
        ScriptedAuthenticator(always: .rejected(.wrong))
    }
}

/// An authenticator whose setting decides whether it reports the status of accounts.
private enum VariablePlugin: AuthenticatorPlugin {
    static let name: PluginName = "variable"
    static let credentialKinds: Set<CredentialKind> = [.password]
    static func accountStatusSupport(_ settings: Bool) -> AccountStatusSupport { settings ? .status : .loginsOnly }

    static func readSettings(_ reader: ConfigurationReader) -> Bool? { reader.bool("status") ?? false }
    static func problems(in settings: Bool, context: PluginContext) async -> [ConfigurationProblem] { [] }
    static func makeAuthenticator(_ settings: Bool, context: PluginContext) async throws -> any Authenticator {
        ScriptedAuthenticator(always: .rejected(.wrong))
    }
}
