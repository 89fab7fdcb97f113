import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import LDAP

extension DirectoryTests {
    /// Groups by search and by the user's attribute.
    @Suite("Groups")
    struct GroupTests {
        private static func groups(_ authenticator: LDAPAuthenticator) async -> [String]? {
            guard case .accepted(let identity) = await authenticator.login("alice", "right") else { return nil }
            return identity.groups.map(\.text).sorted()
        }

        private static func useMemberOf(_ settings: inout LDAPPlugin.Settings) {
            settings.search.groupAttribute = "memberOf"
            settings.search.groupFilter = ""
        }

        @Test("Both sources give the same groups: below the base, with a valid name")
        func sources() async throws {
            let other = "dn: ou=other,\(Slapd.base)\nobjectClass: organizationalUnit\nou: other\n\n"
            let slapd = try Slapd(
                Slapd.user("alice") + Slapd.group("staff", of: ["alice"]) + Slapd.group("With Space", of: ["alice"])
                    + other + Slapd.group("admins", of: ["alice"], below: "ou=other,\(Slapd.base)"))
            // The overlay maintains `memberOf` on changes, not while entries are loaded.
            try slapd.modify(
                """
                dn: cn=night,\(Slapd.groups)
                changetype: add
                objectClass: groupOfNames
                member: uid=alice,\(Slapd.people)

                dn: cn=root,ou=other,\(Slapd.base)
                changetype: add
                objectClass: groupOfNames
                member: uid=alice,\(Slapd.people)

                """)
            #expect(await Self.groups(slapd.authenticator()) == ["night", "staff"])
            let byAttribute = slapd.authenticator(.inRealTime(), Self.useMemberOf)
            #expect(await Self.groups(byAttribute) == ["night"])
            let byUID = slapd.authenticator { $0.search.groupFilter = "(&(objectClass=groupOfNames)(cn={user}))" }
            #expect(await Self.groups(byUID) == [])
            #expect(await Self.groups(slapd.authenticator { $0.search.groupBase = "" }) == [])
        }

        @Test("A group of 10,000 members is one group, and its members are not read")
        func manyMembers() async throws {
            let members = ["alice"] + (0..<10_000).map { "user\($0)" }
            let slapd = try Slapd(Slapd.user("alice") + Slapd.group("everybody", of: members))
            #expect(await Self.groups(slapd.authenticator()) == ["everybody"])
        }

        @Test("A user in 1,000 groups has all of them, and one in 1,001 groups is unavailable")
        func manyGroups() async throws {
            let groups = (0..<1000).map { Slapd.group("g\($0)", of: ["alice"]) }.joined()
            let slapd = try Slapd(Slapd.user("alice") + groups)
            let authenticator = slapd.authenticator()
            #expect(await Self.groups(authenticator)?.count == 1000)
            try slapd.modify(
                """
                dn: cn=more,\(Slapd.groups)
                changetype: add
                objectClass: groupOfNames
                member: uid=alice,\(Slapd.people)

                """)
            #expect(await authenticator.login("alice", "right") == .unavailable(.failed))
            #expect(await authenticator.login("alice", "wrong") == .rejected(.wrong))
            #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.failed))
        }

        @Test("A group search that the server refuses is unavailable, not an empty set of groups")
        func refusedSearch() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator { $0.search.groupBase = "ou=absent,\(Slapd.base)" }
            #expect(await authenticator.login("alice", "right") == .unavailable(.failed))
        }
    }
}
