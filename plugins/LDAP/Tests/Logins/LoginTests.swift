import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing
import WorkerProcesses

@testable import LDAP

extension DirectoryTests {
    /// Right and wrong passwords, and what the server sees of them.
    @Suite("Passwords")
    struct LoginTests {
        @Test("The right password yields the canonical user with the groups, and the workers end")
        func right() async throws {
            let slapd = try Slapd(
                Slapd.user("alice") + Slapd.group("sales", of: ["alice"]) + Slapd.group("staff", of: ["alice", "bob"])
                    + Slapd.group("ops", of: ["bob"]))
            let authenticator = slapd.authenticator()
            let expected = AuthenticationOutcome.accepted("alice", groups: ["sales", "staff"], by: "ldap")
            #expect(await authenticator.login("alice", "right") == expected)
            #expect(await authenticator.login("ALICE", "right") == expected)
            await authenticator.stop()
            #expect(ObservedProcess.own.workers.isEmpty)
        }

        @Test("A wrong password and an unknown user are rejected alike, and cost the server the same operations")
        func wrong() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator()
            #expect(await authenticator.login("alice", "right").isGrant)
            func cost(_ name: String) async throws -> [Int] {
                let before = try (slapd.operations("Bind"), slapd.operations("Search"))
                #expect(await authenticator.login(name, "wrong") == .rejected(.wrong))
                return try [slapd.operations("Bind") - before.0, slapd.operations("Search") - before.1]
            }
            // The connection of the gateway's own account is kept: no bind but that of the password.
            #expect(try await cost("alice") == [1, 1])
            #expect(try await cost("nobody") == [1, 1])
            #expect(await authenticator.login("alice", [0xFF, 0xFE]) == .rejected(.wrong))
            #expect(await authenticator.login("alice", String(repeating: "x", count: 1024)) == .rejected(.wrong))
        }

        @Test("An empty, a too long or an invalid password never reaches the server")
        func malformed() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator()
            #expect(await authenticator.login("alice", "right").isGrant)
            let before = try slapd.operations("Bind")
            #expect(await authenticator.login("alice", "") == .rejected(.malformed))
            #expect(await authenticator.login("alice", "right\u{0}") == .rejected(.malformed))
            #expect(await authenticator.login("alice", String(repeating: "x", count: 1025)) == .rejected(.malformed))
            #expect(try slapd.operations("Bind") == before)
        }

        @Test("A request for a login without a password is not even decoded by a worker")
        func emptyPasswordInRequest() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator()
            #expect(await authenticator.login("alice", "right").isGrant)
            let before = try slapd.operations("Bind")
            let request = slapd.settings().request(.login, user: "alice", password: Secret([]))
            let response = await authenticator.pool.query(request, for: .recheck)
            #expect(response == .failure(.worker(.ended)))
            #expect(try slapd.operations("Bind") == before)
        }

        @Test("An unknown user is left to a later authenticator, and a known one with a wrong password is not")
        func later() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator(.inRealTime(isLastOfItsKind: false))
            #expect(await authenticator.login("nobody", "right") == .notMine)
            #expect(await authenticator.login("alice", "wrong") == .rejected(.wrong))
        }

        @Test("A name that finds another user's entry is rejected, whatever the password")
        func otherUser() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let byMail = slapd.authenticator { $0.filter = SearchFilter(checked: "(mail={user})") }
            #expect(await byMail.login("alice@example.com", "right") == .rejected(.wrong))
            let names = NameRules(suffixes: ["@example.com"])
            let stripping = slapd.authenticator(.inRealTime(names: names)) {
                $0.filter = SearchFilter(checked: "(mail={user})")
            }
            #expect(
                await stripping.login("alice@example.com", "right", names: names) == .accepted("alice", by: "ldap"))
        }

        @Test("A name with more than one entry, and an entry without the user attribute, are unavailable")
        func ambiguous() async throws {
            let second = Slapd.user("alice").replacing(",ou=people", with: ",ou=more,ou=people")
            let more = "dn: ou=more,\(Slapd.people)\nobjectClass: organizationalUnit\nou: more\n\n"
            let slapd = try Slapd(Slapd.user("alice") + Slapd.user("bob") + more + second)
            let authenticator = slapd.authenticator()
            #expect(await authenticator.login("alice", "right") == .unavailable(.failed))
            #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.failed))
            let level = slapd.authenticator { $0.search.scope = .oneLevel }
            #expect(await level.login("alice", "right").isGrant)
            let unreadable = slapd.authenticator { $0.search.userAttribute = "employeeNumber" }
            #expect(await unreadable.login("bob", "right") == .unavailable(.failed))
        }

        @Test("A refused account of the gateway is unavailable, and no user's password reaches the server")
        func refusedService() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator { $0.server.bindPassword = Secret("other".utf8) }
            let before = try slapd.operations("Bind")
            #expect(await authenticator.login("alice", "right") == .unavailable(.unreachable))
            #expect(try slapd.operations("Bind") == before + 1)
            #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.unreachable))
        }

        @Test("Anonymous searches are possible where the server permits them")
        func anonymous() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = slapd.authenticator {
                $0.server.bindDN = ""
                $0.server.bindPassword = Secret([])
            }
            // This server shows nothing to anonymous clients.
            #expect(await authenticator.login("alice", "right") == .unavailable(.unreachable))
        }
    }
}
