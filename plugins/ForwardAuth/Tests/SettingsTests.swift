import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import ForwardAuth

@Suite("Settings of forward-auth")
struct SettingsTests {
    static func read(_ yaml: String) throws -> (ForwardAuthPlugin.Settings?, [String]) {
        let problems = ConfigurationProblems()
        let reader = ConfigurationReader(
            try YAMLDocument.parse(yaml, file: "gateway.yaml"), directory: "", problems: problems)
        let settings = ForwardAuthPlugin.readSettings(reader)
        reader.finish()
        return (settings, problems.all.map(\.description))
    }

    @Test("Every setting is read, and missing ones have their defaults")
    func all() throws {
        let (read, problems) = try Self.read(
            """
            { url: "https://auth.example.com/verify?for=notify", kinds: [password], user-header: Remote-User,
              groups-header: Remote-Groups, rejected-statuses: [302, 303], timeout: 2s, connections: 3, queue: 9,
              status-url: "https://auth.example.com/status", status-token: 0123456789abcdef }
            """)
        #expect(problems.isEmpty)
        let settings = try #require(read)
        #expect(settings.url == "https://auth.example.com/verify?for=notify")
        #expect(settings.delegation.kinds == [.password])
        #expect(settings.userHeader == "Remote-User")
        #expect(settings.groupsHeader == "Remote-Groups")
        #expect(settings.rejectedStatuses == [302, 303])
        #expect(settings.delegation.timeout == .seconds(2))
        #expect(settings.delegation.connections == 3)
        #expect(settings.delegation.queue == 9)
        #expect(settings.status?.url == "https://auth.example.com/status")
        #expect(settings.status?.token?.isEqual(to: Secret("0123456789abcdef".utf8)) == true)
        #expect(ForwardAuthPlugin.accountStatusSupport(settings) == .status)
        let bare = try #require(try Self.read("{ url: \"http://[::1]:9000/\" }").0)
        #expect(bare.delegation.kinds == [.password, .bearer])
        #expect(bare.userHeader == "X-Forwarded-User")
        #expect(bare.groupsHeader == "X-Forwarded-Groups")
        #expect(bare.rejectedStatuses.isEmpty)
        #expect(bare.delegation.timeout == .seconds(5))
        #expect(bare.delegation.connections == 4)
        #expect(bare.status == nil)
        #expect(ForwardAuthPlugin.accountStatusSupport(bare) == .loginsOnly)
    }

    @Test(
        "A status that cannot mean a wrong credential is reported",
        arguments: ["200", "299", "500", "x", "-302", "3e2"])
    func statuses(_ status: String) throws {
        let problems = try Self.read("{ url: http://localhost/, rejected-statuses: [303, \(status)] }").1
        #expect(problems.count == 1 && problems[0].hasSuffix("rejected-statuses[1]: must be a status from 300 to 499"))
    }

    @Test("Mistakes of the status query are reported with their location")
    func statusMistakes() throws {
        for (settings, problem) in [
            (
                "status-url: http://192.0.2.1/",
                "status-url: lets everybody on the path to another machine end accounts; use https, or set "
                    + "allow-plaintext: true"
            ),
            ("status-url: status", "status-url: is not a URL"),
            (
                #"status-url: "http://localhost/?a=b&user=x""#,
                "status-url: must not have the parameter user, which the gateway adds"
            ),
            (
                #"status-url: "http://localhost/?%75ser=x""#,
                "status-url: must not have the parameter user, which the gateway adds"
            ),
            ("status-token: 0123456789abcdef", #"status-token: needs "status-url""#),
            (
                "status-url: http://localhost/, status-token: short",
                "status-token: must be 16 to 1024 of A-Z a-z 0-9 - . _ ~ + / ="
            ),
            (
                #"status-url: http://localhost/, status-token: "0123456789abcdef\r\nX: y""#,
                "status-token: must be 16 to 1024 of A-Z a-z 0-9 - . _ ~ + / ="
            ),
        ] {
            let problems = try Self.read("{ url: http://localhost/, \(settings) }").1
            #expect(problems.count == 1 && problems[0].hasSuffix(": " + problem), "\(problems)")
        }
        let plain = try Self.read("{ url: http://localhost/, status-url: http://192.0.2.1/, allow-plaintext: true }")
        #expect(plain.0?.status != nil)
    }

    @Test("The accepted kinds are the configured ones")
    func takes() throws {
        for (kinds, taken) in [("[bearer]", [.bearer]), ("[password]", [.password]), ("~", [.password, .bearer])]
            as [(String, Set<CredentialKind>)]
        {
            let settings = try #require(try Self.read("{ url: http://localhost/, kinds: \(kinds) }").0)
            #expect(ForwardAuthPlugin.credentialKinds(settings) == taken)
        }
    }

    @Test("Every mistake is reported with its location")
    func mistakes() throws {
        let (settings, problems) = try Self.read(
            """
            url: http://auth.example.com/
            kinds: [basic]
            user-header: "X-User: evil"
            groups-header: ""
            timeout: 1ms
            connections: 65
            queue: 0
            allow-plaintext: "true"
            header: X
            """)
        #expect(settings == nil)
        #expect(
            Set(problems) == [
                "gateway.yaml:1:6: url: sends passwords to another machine in plain text; use https, or set "
                    + "allow-plaintext: true",
                "gateway.yaml:2:9: kinds[0]: \"basic\" is not one of: password, bearer",
                "gateway.yaml:3:14: user-header: is not a header field name: use 1 to 64 of A-Z a-z 0-9 - _",
                "gateway.yaml:4:16: groups-header: is not a header field name: use 1 to 64 of A-Z a-z 0-9 - _",
                "gateway.yaml:5:10: timeout: must be from 10ms to 1min",
                "gateway.yaml:6:14: connections: must be a whole number from 1 to 64",
                "gateway.yaml:7:8: queue: must be a whole number from 1 to 4096",
                "gateway.yaml:8:18: allow-plaintext: must be true or false",
                "gateway.yaml:9:1: header: is not a known key; known keys: allow-plaintext, connections, groups-header, "
                    + "kinds, queue, rejected-statuses, status-token, status-url, timeout, url, user-header",
            ])
        #expect(try Self.read("{}").1 == ["gateway.yaml:1:1: \"url\" is missing"])
        #expect(
            try Self.read("{ url: http://localhost/, user-header: X-A, groups-header: x-a }").1 == [
                "gateway.yaml:1:60: groups-header: must differ from user-header"
            ])
    }

    @Test(
        "A valid URL is accepted",
        arguments: [
            "http://127.0.0.1:9000/verify", "http://127.9.9.9/", "http://localhost:80", "http://[::1]:9000/verify",
            "https://auth.example.com/x?y=z", "http+unix://%2Frun%2Fauth.sock/verify", "HTTPS://EXAMPLE.com/",
        ])
    func good(_ url: String) { #expect(ServiceURL.fault(in: url, allowsPlaintext: false) == nil) }

    @Test(
        "An invalid URL is rejected",
        arguments: [
            "", "verify", "/verify", "ftp://127.0.0.1/", "file:///etc/passwd", "http://", "http:///verify",
            "http://192.0.2.1/", "http://auth.example.com/", "http://127.0.0.1.example.com/",
            "http://localhost.example.com/", "http://128.0.0.1/", "http://[::2]/", "http://0.0.0.0/",
            "http://[::ffff:192.0.2.1]/", "http://user@127.0.0.1/", "http://user:pw@127.0.0.1/",
            "https://user:pw@example.com/", "https://example.com/#x", "http://127.0.0.1/a b",
            "http://127.0.0.1/\r\nX: y",
            "https://ex\u{E4}mple.com/", "http://127.0.0.1@192.0.2.1/", "http://127.0.0.1:0/",
            "http://127.0.0.1:70000/",
        ])
    func bad(_ url: String) { #expect(ServiceURL.fault(in: url, allowsPlaintext: false) != nil) }

    @Test("Plain text to another machine requires allow-plaintext")
    func plaintext() throws {
        #expect(try Self.read("{ url: http://192.0.2.1/ }").0 == nil)
        #expect(try Self.read("{ url: http://192.0.2.1/, allow-plaintext: true }").0?.url == "http://192.0.2.1/")
        #expect(try Self.read("{ url: ftp://192.0.2.1/, allow-plaintext: true }").0 == nil)
    }

    @Test("The README's example loads")
    func readme() throws {
        let settings = try PluginReadme().settings(of: ForwardAuthPlugin.self)
        #expect(settings.url == "http://127.0.0.1:9000/verify")
    }
}
