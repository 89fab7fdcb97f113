import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing
import WorkerProcesses

@testable import LDAP

extension DirectoryTests {
    /// Names that would change an unescaped filter.
    @Suite("Injection into filters")
    struct InjectionTests {
        private static let attacks = [
            "*", "a*", "alice*", "*)(uid=*", "alice)(|(uid=*", "*))(|(uid=*", "alice)(&", "(uid=*)", "\\2a", "\\",
            "alice\\", "alice\\29", "*)(objectClass=*", "|(uid=alice)", "&", "!", "alice)(!(uid=x", "{user}", "{dn}",
            "alice,ou=people", "uid=alice", "alice#", "*\u{301}", "alice )", "(", ")", "=*", ">=", "~=alice",
            ":caseExactMatch:=alice", "alice)(mail=alice@example.com", "$(id)", "%2a", "&#42;", "\u{FF0A}",
        ]

        @Test("No hostile name finds an entry, and none is an error of the server")
        func attacks() async throws {
            try await findNobody(Self.attacks)
        }

        @Test(
            "No string of the Big List of Naughty Strings finds an entry",
            .enabled(if: !TestData.naughtyStrings.isEmpty, "no blns.json: set NOTIFY_GATEWAY_CORPORA"))
        func naughtyStrings() async throws {
            try await findNobody(TestData.naughtyStrings)
        }

        @Test("A name that the directory takes for another one finds its entry, and is rejected")
        func equalNames() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            let names = NameRules(escaping: .hex)
            let authenticator = slapd.authenticator(.inRealTime(names: names))
            // Directories fold compatibility characters (RFC 4518, section 2.3) and squeeze spaces.
            for name in ["\u{FF41}\u{FF4C}\u{FF49}\u{FF43}\u{FF45}", " alice", "alice  "] {
                let request = slapd.settings().request(.accountStatus, user: name, password: Secret([]))
                guard case .success(.findings(let findings)) = await authenticator.pool.query(request, for: .recheck)
                else {
                    Issue.record("\(name.debugDescription)")
                    continue
                }
                #expect(findings.entries == 1, "\(name.debugDescription)")
                #expect(await authenticator.login(name, "right", names: names) == .rejected(.wrong))
                #expect(await authenticator.status(of: LoginName(name)) == .ended(.wrong))
            }
        }

        private func findNobody(_ names: [String]) async throws {
            let slapd = try Slapd(Slapd.user("alice") + Slapd.user("bob") + Slapd.group("staff", of: ["alice"]))
            let settings = slapd.settings { $0.search.groupFilter = "(&(member={dn})(cn={user}))" }
            let authenticator = LDAPAuthenticator(settings, context: .inRealTime(names: NameRules(escaping: .hex)))
            var asked = 0
            for name in names where LoginGrammar.isName(LoginName(name)) && name.utf8.count <= 256 {
                let request = settings.request(.accountStatus, user: name, password: Secret([]))
                let response = await authenticator.pool.query(request, for: .recheck)
                guard case .success(.findings(let findings)) = response else {
                    Issue.record("\(name.debugDescription): \(response)")
                    continue
                }
                #expect(findings.entries == 0, "\(name.debugDescription)")
                asked += 1
                #expect(!(await authenticator.login(name, "right")).isGrant, "\(name.debugDescription)")
            }
            #expect(asked > names.count / 2)
            // The same authenticator still finds the user.
            #expect(await authenticator.login("alice", "right").isGrant)
        }
    }
}
