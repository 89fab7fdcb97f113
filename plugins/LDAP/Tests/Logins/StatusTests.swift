import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import LDAP

extension DirectoryTests {
    /// Accounts that end.
    @Suite("Status of accounts")
    struct StatusTests {
        private static let alice = LoginName("alice")

        @Test("A valid account has its groups, and a deleted one has ended")
        func deleted() async throws {
            let slapd = try Slapd(Slapd.user("alice") + Slapd.group("staff", of: ["alice"]))
            let authenticator = slapd.authenticator()
            #expect(await authenticator.status(of: Self.alice) == .valid(groups: Set([GroupName("staff")!])))
            try slapd.modify("dn: uid=alice,\(Slapd.people)\nchangetype: delete\n")
            #expect(await authenticator.status(of: Self.alice) == .ended(.wrong))
            #expect(await authenticator.login("alice", "right") == .rejected(.wrong))
        }

        @Test(
            "An account that the directory disabled or let expire has ended, and its password no longer logs in",
            arguments: [
                ("userAccountControl: 514", InvalidCredentialReason.disabled), ("nsAccountLock: TRUE", .disabled),
                ("accountExpires: 116444736010000000", .expired), ("shadowExpire: 1", .expired),
            ])
        func disabled(_ attribute: String, _ reason: InvalidCredentialReason) async throws {
            let slapd = try Slapd(Slapd.user("alice") + Slapd.user("bob", "userAccountControl: 512"))
            let authenticator = slapd.authenticator()
            #expect(await authenticator.login("alice", "right").isGrant)
            #expect(await authenticator.login("bob", "right").isGrant)
            let name = attribute.prefix { $0 != ":" }
            try slapd.modify("dn: uid=alice,\(Slapd.people)\nchangetype: modify\nadd: \(name)\n\(attribute)\n")
            #expect(await authenticator.login("alice", "right") == .rejected(reason))
            #expect(await authenticator.login("alice", "wrong") == .rejected(.wrong))
            #expect(await authenticator.status(of: Self.alice) == .ended(.expired))
            #expect(await authenticator.status(of: LoginName("bob")) == .valid(groups: []))
        }

        @Test("An account outside the account filter has ended, and its password no longer logs in")
        func filter() async throws {
            let slapd = try Slapd(Slapd.user("alice", "employeeType: push") + Slapd.user("bob"))
            let authenticator = slapd.authenticator { $0.search.accountFilter = "(employeeType=push)" }
            #expect(await authenticator.login("alice", "right").isGrant)
            #expect(await authenticator.login("bob", "right") == .rejected(.disabled))
            #expect(await authenticator.login("bob", "wrong") == .rejected(.wrong))
            #expect(await authenticator.status(of: LoginName("bob")) == .ended(.expired))
            #expect(await authenticator.status(of: Self.alice) == .valid(groups: []))
        }

        @Test("An absent base is a fault of the configuration: no account has ended")
        func absentBase() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator { $0.search.base = "ou=absent,\(Slapd.base)" }
            #expect(await authenticator.status(of: Self.alice) == .unknown(.unreachable))
            #expect(await authenticator.login("alice", "right") == .unavailable(.unreachable))
        }
    }
}
