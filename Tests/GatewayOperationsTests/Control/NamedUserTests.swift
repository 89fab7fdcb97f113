import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayOperations

@Suite("The users of operations")
struct NamedUserTests {
    private func user(_ name: String, by names: NameRules) throws -> String? {
        try ControlArguments([.init("user", .string(name))], named: ["user"]).user("user", by: names)?.text
    }

    /// Commands, console and operator API give the name as the operator typed it or as a list showed it.
    @Test(
        "An operation means the same user by the account's name and by the canonical name",
        arguments: [
            ("zo\u{EB}", "zo_xc3_xab"), ("zo_xc3_xab", "zo_xc3_xab"), ("ZO_XC3_XAB", "zo_xc3_xab"),
            ("auth0|1", "auth0_x7c1"), ("auth0_x7c1", "auth0_x7c1"), ("system:sender", "system_x3asender"),
            ("max_xavier", "max_x5fxavier"), ("max_x5fxavier", "max_x5fxavier"),
            ("zo_x5fxc3_x5fxab", "zo_x5fxc3_x5fxab"), ("alice@Example.com", "alice"),
        ])
    func bothSpellings(_ name: String, _ canonical: String) throws {
        let names = NameRules(suffixes: ["@example.com"], escaping: .hex)
        #expect(try user(name, by: names) == canonical)
        #expect(try user(canonical, by: names) == canonical)
    }

    @Test("Without escaping, a name outside the alphabet means nobody")
    func withoutEscaping() throws {
        #expect(throws: ControlError.self) { try user("zo\u{EB}", by: NameRules()) }
        #expect(try user("zo_xc3_xab", by: NameRules()) == "zo_xc3_xab")
    }
}
