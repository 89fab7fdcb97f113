import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite struct UnmappedNameTests {
    @Test(
        "The log contains the reason for an unmapped name, and the response does not",
        arguments: [
            ("a b", NameRules(), "U+20 in the name is not one of a-z 0-9 _ @ . -"),
            (
                "@example.com", NameRules(suffixes: ["@example.com"]),
                "the name is empty after prefix and suffix are removed"
            ),
            (String(repeating: "x", count: 112), NameRules(), "the name is longer than 111 bytes"),
        ])
    func onlyTheLogContainsTheReason(
        _ name: String, _ names: NameRules, _ reason: String
    ) async throws {
        let log = LogRecorder()
        let clock = ManualClock()
        var rules = TestGateway.rules(clock: clock)
        rules.names = names
        rules.authenticators = AuthenticatorChain([
            .init(
                name: "scripted", credentialKinds: [.password],
                authenticator: ScriptedAuthenticator(
                    always: .accepted(Identity(user: UserName(canonical: "x")!, authenticator: "scripted"))))
        ])
        var dependencies = TestGateway.dependencies(
            clock: clock, ledger: ScriptedLedger(), journal: MemoryJournal(), backend: ScriptedBackend())
        dependencies.logger = log.logger
        let response = await Gateway(rules: rules, dependencies: dependencies).serve(
            ReceivedRequest("GET /auth/whoami", authorization: .basic(name, "x")))
        #expect(response.code == .identityUnmapped && response.status == 403)
        let rejections = log.lines.filter { $0.message == "Login failed" }
        #expect(rejections.compactMap { $0.metadata["reason"] } == ["\(reason)"])
        #expect(!response.text.contains(reason) && !response.text.contains(name))
    }
}
