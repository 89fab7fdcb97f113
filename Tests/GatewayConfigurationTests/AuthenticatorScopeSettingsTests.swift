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
            file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]))
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
