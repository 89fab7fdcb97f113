import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import LDAP

@Suite("Settings of ldap")
struct SettingsTests {
    private func read(_ text: String) throws -> (LDAPPlugin.Settings?, [String]) {
        let problems = ConfigurationProblems()
        let node = try YAMLDocument.parse(text, file: "gateway.yaml")
        let reader = ConfigurationReader(node, path: "ldap", directory: "/etc/ng", problems: problems)
        let settings = LDAPPlugin.readSettings(reader)
        reader.finish()
        return (settings, problems.all.map { "\($0.path): \($0.message)" })
    }

    private static let least = "url: ldaps://x, base: \"dc=example,dc=com\""

    @Test("Missing settings have their defaults")
    func defaults() throws {
        let (read, problems) = try read("{ \(Self.least) }")
        let settings = try #require(read)
        #expect(problems.isEmpty)
        #expect(settings.server.url == "ldaps://x")
        #expect(settings.server.authorities == SettingsReader.systemAuthorities)
        #expect(settings.server.bindDN.isEmpty)
        #expect(settings.server.timeout == 5000)
        #expect(settings.filter.text == "(uid={user})")
        #expect(settings.search.scope == .subtree)
        #expect(settings.search.groupBase.isEmpty)
        #expect(settings.search.groupFilter.isEmpty)
        #expect(settings.timeout == .seconds(5))
        #expect(settings.workers == 4)
        #expect(settings.queue == 64)
        #expect(settings.program == "/proc/self/exe")
    }

    @Test("Every setting is read")
    func all() throws {
        let (read, problems) = try read(
            """
            url: ldap://ldap.example.com
            start-tls: true
            ca: ca.pem
            bind-dn: cn=gateway,dc=example,dc=com
            bind-password: secret
            base: ou=people,dc=example,dc=com
            scope: one-level
            filter: (sAMAccountName={user})
            user-attribute: sAMAccountName
            account-filter: (employeeType=push)
            group-base: ou=groups,dc=example,dc=com
            group-attribute: memberOf
            group-name: ou
            timeout: 2s
            workers: 2
            queue: 8
            """)
        let settings = try #require(read)
        #expect(problems.isEmpty)
        #expect(settings.server.usesStartTLS)
        #expect(settings.server.authorities == "/etc/ng/ca.pem")
        #expect(settings.server.bindPassword.isEqual(to: Secret("secret".utf8)))
        #expect(settings.server.timeout == 2000)
        #expect(
            settings.search
                == AccountSearch(
                    base: "ou=people,dc=example,dc=com", scope: .oneLevel, userAttribute: "sAMAccountName",
                    accountFilter: "(employeeType=push)", groupBase: "ou=groups,dc=example,dc=com",
                    groupAttribute: "memberOf", groupFilter: "", groupName: "ou"))
        #expect(settings.workers == 2)
        #expect(settings.queue == 8)
        let search = try self.read("{ \(Self.least), group-base: \"ou=groups\", user-attribute: mail }").0
        #expect(search?.search.groupFilter == "(member={dn})")
        #expect(search?.filter.text == "(mail={user})")
    }

    @Test(
        "Every mistake is reported",
        arguments: [
            ("{}", ["ldap: \"base\" is missing", "ldap: \"url\" is missing"]),
            (
                "{ url: ldap://ldap.example.com, base: \"dc=x\" }",
                [
                    "ldap.url: sends passwords to another machine in plain text; use ldaps://, or set start-tls: true"
                ]
            ),
            (
                "{ url: \"https://x\", base: \"dc=x\" }",
                ["ldap.url: must be ldaps://HOST, ldap://HOST or ldapi://PATH, with a port at most"]
            ),
            ("{ \(least), start-tls: true }", ["ldap.start-tls: is for ldap:// only"]),
            (
                "{ url: \"ldap://127.0.0.1\", ca: x, base: \"dc=x\" }", ["ldap.ca: has no effect without TLS"]
            ),
            ("{ \(least), bind-dn: \"cn=x\" }", ["ldap.bind-dn: needs bind-password"]),
            ("{ \(least), bind-password: x }", ["ldap.bind-password: needs bind-dn"]),
            (
                "{ \(least), bind-dn: \"cn=x\", bind-password: \"\" }",
                ["ldap.bind-password: must have 1 to 1024 bytes"]
            ),
            (
                "{ url: ldaps://x, base: people }",
                ["ldap.base: is not a distinguished name, such as ou=people,dc=example,dc=com"]
            ),
            (
                "{ \(least), filter: \"(uid=*)\" }",
                ["ldap.filter: has no {user}, so it would find the same entry for every user"]
            ),
            (
                "{ \(least), filter: \"(uid=x{user})\" }",
                ["ldap.filter: has {user} elsewhere than as a whole value, such as in (uid={user})"]
            ),
            (
                "{ \(least), account-filter: x }",
                ["ldap.account-filter: is not a search filter of RFC 4515, such as (uid={user})"]
            ),
            ("{ \(least), user-attribute: \"u)\" }", ["ldap.user-attribute: is not an attribute, such as uid"]),
            ("{ \(least), group-attribute: memberOf }", ["ldap.group-attribute: needs group-base"]),
            (
                "{ \(least), group-base: \"ou=g\", group-attribute: memberOf, group-filter: \"(member={dn})\" }",
                ["ldap.group-filter: cannot be combined with group-attribute"]
            ),
            ("{ \(least), scope: base }", ["ldap.scope: \"base\" is not one of: subtree, one-level"]),
        ])
    func mistakes(_ text: String, _ expected: [String]) throws {
        #expect(try read(text).1.sorted() == expected)
    }

    @Test("A file of authorities that is absent or has no certificate is a problem")
    func authorities() async throws {
        let files = try TestFiles()
        func problems(_ file: String) async throws -> [String] {
            let (read, _) = try read("{ \(Self.least), ca: \(file) }")
            let settings = try #require(read)
            return await LDAPPlugin.problems(in: settings, context: .test()).map { "\($0.path): \($0.message)" }
        }
        #expect(try await problems("/absent.pem") == ["ldap.ca: /absent.pem cannot be read"])
        let empty = try files.write("no certificate", to: "empty.pem")
        #expect(try await problems(empty) == ["ldap.ca: \(empty) has no certificate in PEM"])
        #expect(try await problems(try files.write(TestCertificate.authority, to: "ca.pem")) == [])
    }
}
