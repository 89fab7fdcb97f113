import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import OIDC

@Suite("Settings of oidc")
struct SettingsTests {
    private func read(_ text: String) throws -> (OIDCPlugin.Settings?, [String]) {
        let problems = ConfigurationProblems()
        let root = ConfigurationReader(
            try YAMLDocument.parse(text, file: "gateway.yaml"), directory: "/etc/ng", problems: problems)
        let settings = OIDCPlugin.readSettings(root)
        root.finish()
        return (settings, problems.all.map { "\($0.path): \($0.message)" })
    }

    @Test("The defaults are strict")
    func defaults() throws {
        let (settings, problems) = try read("{ issuer: https://id.example.com, audience: notify }")
        #expect(problems == [])
        let read = try #require(settings)
        #expect(read.keys == .discovery)
        #expect(read.algorithms == [.rs256])
        #expect(read.userClaim == "sub" && read.groupsClaim == "groups" && read.leeway == .seconds(60))
        #expect(read.clients.isEmpty && read.scopes.isEmpty && read.authorities == nil)
    }

    @Test("Every setting is read")
    func all() throws {
        let (settings, problems) = try read(
            """
            { issuer: accounts.example, audience: a, jwks: "https://id.example.com/k", algorithms: [ES256, EdDSA],
              clients: [app], scopes: [push], user-claim: email, groups-claim: roles, leeway: 5s, ca: ca.pem }
            """)
        #expect(problems == [])
        let read = try #require(settings)
        #expect(read.issuer == "accounts.example" && read.keys == .url("https://id.example.com/k"))
        #expect(read.algorithms == [.es256, .edDSA] && read.clients == ["app"] && read.scopes == ["push"])
        #expect(read.userClaim == "email" && read.groupsClaim == "roles" && read.leeway == .seconds(5))
        #expect(read.authorities == "/etc/ng/ca.pem")
        #expect(read.login == nil && !OIDCPlugin.offersBrowserLogins(read))
        let login = try self.read(
            "{ issuer: https://a.example, audience: b, login: { client: c, secret: s, scopes: [openid, groups] } }")
        #expect(login.1 == [])
        #expect(login.0?.login == .init(client: "c", secretFile: "/etc/ng/s", scopes: ["openid", "groups"]))
        #expect(login.0.map(OIDCPlugin.offersBrowserLogins) == true)
        #expect(
            try self.read("{ issuer: https://a.example, audience: b, login: { client: c } }").0?.login
                == .init(client: "c", secretFile: nil, scopes: ["openid", "profile"]))
        #expect(try self.read("{ issuer: a, audience: b, jwks: k.json }").0?.keys == .file("/etc/ng/k.json"))
        #expect(try self.read("{ issuer: \"http://127.0.0.1:9000\", audience: b }").1 == [])
    }

    @Test(
        "Each mistake is reported at its setting",
        arguments: [
            ("{ audience: a }", "issuer"), ("{ issuer: https://a.example }", "audience"),
            ("{ issuer: a, audience: b }", "issuer"), ("{ issuer: http://a.example, audience: b }", "issuer"),
            ("{ issuer: https://u:p@a.example, audience: b }", "issuer"),
            ("{ issuer: https://a.example?x, audience: b }", "issuer"),
            ("{ issuer: \"https://a.example#x\", audience: b }", "issuer"),
            ("{ issuer: https://a.example, audience: b, jwks: http://a.example/k }", "jwks"),
            ("{ issuer: https://a.example, audience: b, jwks: file://k }", "jwks"),
            ("{ issuer: https://a.example, audience: b, jwks: k, ca: c }", "ca"),
            ("{ issuer: https://a.example, audience: b, algorithms: [HS256] }", "algorithms"),
            ("{ issuer: https://a.example, audience: b, algorithms: [none] }", "algorithms"),
            ("{ issuer: https://a.example, audience: b, algorithms: [] }", "algorithms"),
            ("{ issuer: https://a.example, audience: b, scopes: [] }", "scopes"),
            ("{ issuer: https://a.example, audience: b, clients: [\"\"] }", "clients"),
            ("{ issuer: https://a.example, audience: b, leeway: 61s }", "leeway"),
            ("{ issuer: https://a.example, audience: b, user-claim: \"\" }", "user-claim"),
            ("{ issuer: https://a.example, audience: b, secret: c }", "secret"),
            ("{ issuer: https://a.example, audience: b, login: {} }", "login: \"client\""),
            ("{ issuer: https://a.example, audience: b, login: { client: \"\" } }", "login.client"),
            ("{ issuer: https://a.example, audience: b, login: { client: c, scopes: [] } }", "login.scopes"),
            ("{ issuer: https://a.example, audience: b, login: { client: c, scopes: [email] } }", "login.scopes"),
            ("{ issuer: https://a.example, audience: b, login: { client: c, scopes: [openid, a b] } }", "login.scopes"),
            ("{ issuer: https://a.example, audience: b, login: { client: c, id: d } }", "login.id"),
            ("{ issuer: https://a.example, audience: b, jwks: k.json, login: { client: c } }", "login: needs"),
            ("{ issuer: a, audience: b, jwks: \"https://a.example/k\", login: { client: c } }", "login: reads"),
        ])
    func mistakes(_ text: String, _ key: String) throws {
        let problems = try read(text).1
        #expect(problems.count == 1)
        #expect(problems.first?.contains(key) == true, "\(problems)")
    }

    @Test("A file of keys, or of authorities, that cannot be used is a problem")
    func files() async throws {
        let files = try TestFiles()
        var settings = OIDCPlugin.Settings.test()
        func problems() async -> [String] {
            await OIDCPlugin.problems(in: settings, context: .test()).map(\.message)
        }
        settings.keys = .file(files.path + "/missing.json")
        #expect(await problems().first?.contains("does not exist") == true)
        for (text, part) in [
            ("{", "JSON"), (Forge.set([]), "no key"), (Forge.set([TestKey.shortRSA.jwk("k")]), "weak"),
        ] {
            settings.keys = .file(try files.write(text, to: "keys.json"))
            #expect(await problems().first?.contains(part) == true)
            await #expect(throws: ConfigurationError.self) {
                try await OIDCPlugin.makeAuthenticator(settings, context: .test())
            }
        }
        for mode in [0o666, 0o664] {
            settings.keys = .file(try files.write(Forge.keys, to: "open.json", mode: mode))
            #expect(await problems().first?.contains("lets other users change it; run: chmod 644") == true)
        }
        // The keys are public.
        settings.keys = .file(try files.write(Forge.keys, to: "keys.json", mode: 0o644))
        #expect(await problems() == [])
        settings.keys = .discovery
        settings.authorities = files.path + "/missing.pem"
        #expect(await problems().count == 1)
        settings.authorities = try files.write("no certificate", to: "ca.pem")
        #expect(await problems().count == 1)
        settings.authorities = try files.write(TestCertificate.authority, to: "ca.pem")
        #expect(await problems() == [])
        for text in ["", "\n", "two\nlines", "ümlaut", String(repeating: "a", count: 1025)] {
            settings.login = .init(client: "c", secretFile: try files.write(text, to: "secret", mode: 0o600))
            #expect(await problems().first?.contains("must contain the client's secret alone") == true, "\(text)")
        }
        settings.login = .init(client: "c", secretFile: try files.write("secret", to: "secret", mode: 0o644))
        #expect(await problems().first?.contains("chmod 640") == true)
        settings.login = .init(client: "c", secretFile: try files.write("secret\n", to: "secret", mode: 0o600))
        #expect(await problems() == [])
    }

    @Test("A changed file of keys takes effect with the reload, and an invalid one changes nothing")
    func reload() async throws {
        let files = try TestFiles()
        var settings = OIDCPlugin.Settings.test()
        settings.keys = .file(try files.write(Forge.keys, to: "keys.json"))
        let made = try await OIDCPlugin.makeAuthenticator(settings, context: .test())
        let authenticator = try #require(made as? any ReloadableAuthenticator)
        #expect(authenticator.files == [files.path + "/keys.json"])
        #expect(await authenticator.present(Forge.token()) == identity("alice"))
        try files.write("{", to: "keys.json")
        #expect(await authenticator.reload().count == 1)
        #expect(await authenticator.present(Forge.token()) == identity("alice"))
        try files.write(Forge.set([TestKey.otherRSA.jwk("k2")]), to: "keys.json")
        #expect(await authenticator.reload().isEmpty)
        #expect(await authenticator.present(Forge.token()) == .rejected(.untrusted))
        #expect(await authenticator.present(Forge.token(kid: "k2", key: .otherRSA)) == identity("alice"))
    }
}
