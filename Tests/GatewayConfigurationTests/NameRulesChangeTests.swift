import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayConfiguration

@Suite("Changed identity rules")
struct NameRulesChangeTests {
    private func effects(_ old: NameRules, _ new: NameRules, _ owners: [String]) -> [String]? {
        NameRulesChange(from: old.storedForm, to: new)?.effects(on: owners.compactMap { UserName(canonical: $0) })
    }

    @Test("Equal rules and a ledger without stored rules are no change")
    func none() {
        #expect(effects(NameRules(suffixes: ["@X"]), NameRules(suffixes: ["@x"], keepsLoginCase: true), ["a"]) == nil)
        #expect(NameRulesChange(from: nil, to: NameRules(escaping: .hex)) == nil)
    }

    @Test("A change lists users who get another name, lose their name or share one")
    func effects() {
        let strip = NameRules(suffixes: ["@example.com"])
        #expect(
            effects(NameRules(), strip, ["alice", "alice@example.com", "bob"]) == [
                "alice@example.com would be alice", "alice, alice@example.com would be one user, alice",
            ])
        #expect(
            effects(strip, NameRules(), ["alice"]) == [
                #""alice@example.com", now alice, would be alice@example.com"#
            ])
        #expect(
            effects(NameRules(escaping: .hex), NameRules(), ["a_x20b", "c"]) == [
                #""a b", now a_x20b, would have no canonical form"#
            ])
        #expect(
            effects(NameRules(), NameRules(escaping: .hex), ["a_x20b", "c"]) == ["a_x20b would be a_x5fx20b"])
        #expect(effects(NameRules(), NameRules(escaping: .hex), ["alice", "bob"]) == [])
    }

    @Test("Stored rules of an unknown version are a change with limited information")
    func unreadable() throws {
        let change = try #require(NameRulesChange(from: "{\"form\":9}", to: NameRules(suffixes: ["@x"])))
        #expect(change.effects(on: [try #require(UserName(canonical: "a@x"))]) == ["a@x would be a"])
        let problems = change.problems(file: "ledger.sqlite", owners: [])
        #expect(problems.map(\.severity) == [.error])
        #expect(problems.first?.description.contains("--accept-identity-change") == true)
    }
}
