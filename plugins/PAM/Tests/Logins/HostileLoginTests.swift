import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import PAM

extension WorkerTests {
    /// Names and passwords of attackers.
    @Suite("Hostile logins", .enabled(if: PAMModules.matrix != nil, "libpam-wrapper is not installed"))
    struct HostileLoginTests {
        private static let names = [
            "", " ", ".", "..", "../../etc/passwd", "/nobody", "-nobody", "--help", "nobody:", "nobody\u{0}",
            "nobody\n",
            "nobody\r\nauth sufficient pam_permit.so", "nobody\u{2028}", "nobody\u{1B}[2J", "%n%n%s", "$(id)", "`id`",
            "\u{202E}ydobon", "noｂody", "n\u{F6}body", String(repeating: "a", count: 65_536), "*", "nobody ", " nobody",
        ]

        @Test("Hostile names and passwords are rejected and never crash", arguments: [NameRules.Escaping.refuse, .hex])
        func names(_ escaping: NameRules.Escaping) async throws {
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let rules = NameRules(escaping: escaping)
            let authenticator = stack.authenticator(.inRealTime(names: rules))
            for name in Self.names {
                let answer = await authenticator.login(name, "right", names: rules)
                #expect(answer == .rejected(.wrong), "\(name.prefix(40)): \(answer)")
            }
            for count in [512, 1024, 65_536] {
                let password = [UInt8](repeating: 0x78, count: count)
                #expect(await authenticator.login("nobody", password) == .rejected(.malformed))
            }
            #expect(await authenticator.login("nobody", "right").isGrant)
            await authenticator.stop()
        }

        @Test(
            "Hostile strings as user name and as password are never accepted",
            .enabled(if: !TestData.naughtyStrings.isEmpty, "the corpus is not there"))
        func naughtyStrings() async throws {
            let strings = TestData.naughtyStrings
            #expect(strings.count > 500)
            let stack = try PAMStack()
            try stack.useMatrix("nobody")
            let rules = NameRules(escaping: .hex)
            let authenticator = stack.authenticator(.inRealTime(names: rules))
            for string in strings {
                let asUser = await authenticator.login(string, "right", names: rules)
                #expect(asUser == .rejected(.wrong), "\(string)")
                let asPassword = await authenticator.login("nobody", string)
                #expect([.rejected(.wrong), .rejected(.malformed)].contains(asPassword), "\(string)")
            }
            #expect(await authenticator.login("nobody", "right").isGrant)
            await authenticator.stop()
        }
    }
}
