import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import ClientCertificate

@Suite("Users of client certificates")
struct ClientCertificateTests {
    private func outcome(
        _ certificate: VerifiedCertificate, user: ClientCertificatePlugin.NameSource,
        prefix: String = "", suffix: String = "", groups: ClientCertificatePlugin.GroupSource = .none,
        names: NameRules = NameRules()
    ) async throws -> AuthenticationOutcome {
        let authenticator = try await ClientCertificatePlugin.makeAuthenticator(
            .init(user: user, prefix: prefix, suffix: suffix, groups: groups), context: .test(names: names))
        let outcome = await authenticator.authenticate(.certificate(certificate), from: .documentation)
        #expect(authenticator.immediateOutcome(on: .certificate(certificate), from: .documentation) == outcome)
        return outcome
    }

    private func accepted(_ user: String, groups: [String] = []) -> AuthenticationOutcome {
        .accepted(user, groups: groups, by: ClientCertificatePlugin.name)
    }

    /// A certificate that names another user in each place.
    private static let four = VerifiedCertificate(
        emailAddresses: ["Mail@example.com"], uris: ["spiffe://example.com/user/uri"], dnsNames: ["dns.example.com"],
        commonNames: ["Common"], organizationalUnits: ["dispatch", "Field Service", ""])

    @Test("Only the configured place names the user, and the name rules apply")
    func places() async throws {
        let names = NameRules(suffixes: ["@example.com"])
        #expect(try await outcome(Self.four, user: .email, names: names) == accepted("mail"))
        #expect(try await outcome(Self.four, user: .email) == accepted("mail@example.com"))
        #expect(try await outcome(Self.four, user: .uri, prefix: "spiffe://example.com/user/") == accepted("uri"))
        #expect(try await outcome(Self.four, user: .uri) == .rejected(.unmapped))
        #expect(try await outcome(Self.four, user: .dns) == accepted("dns.example.com"))
        #expect(try await outcome(Self.four, user: .commonName) == accepted("common"))
    }

    @Test("A certificate without a name in the configured place is rejected, whatever the others contain")
    func otherPlaces() async throws {
        let common = VerifiedCertificate(commonNames: ["alice"])
        for source in [ClientCertificatePlugin.NameSource.email, .uri, .dns] {
            #expect(try await outcome(common, user: source) == .rejected(.unmapped))
        }
        let alternative = VerifiedCertificate(emailAddresses: ["alice"], uris: ["alice"], dnsNames: ["alice"])
        #expect(try await outcome(alternative, user: .commonName) == .rejected(.unmapped))
    }

    @Test("The prefix and the suffix are required, and removed once")
    func affixes() async throws {
        func outcome(_ name: String) async throws -> AuthenticationOutcome {
            try await self.outcome(.init(uris: [name]), user: .uri, prefix: "urn:", suffix: ".device")
        }
        #expect(try await outcome("urn:alice.device") == accepted("alice"))
        #expect(try await outcome("urn:alice.device.device") == accepted("alice.device"))
        for name in ["alice", "urn:alice", "alice.device", "URN:alice.device", "urn:.device", "urn.device", "urn:"] {
            #expect(try await outcome(name) == .rejected(.unmapped), "\(name)")
        }
    }

    @Test("Several names are rejected, equal or not")
    func severalNames() async throws {
        for values in [["alice", "bob"], ["alice", "alice"], ["alice", ""]] {
            #expect(try await outcome(.init(emailAddresses: values), user: .email) == .rejected(.unmapped))
            #expect(try await outcome(.init(commonNames: values), user: .commonName) == .rejected(.unmapped))
        }
    }

    @Test(
        "A wildcard, a control character and a name that folds to another are rejected even if names are escaped",
        arguments: ["", "*", "*.example.com", "a*", "ﬁ", "Straße", "\u{212A}elvin"])
    func unusable(_ name: String) async throws {
        for names in [NameRules(), NameRules(escaping: .hex)] {
            #expect(try await outcome(.init(dnsNames: [name]), user: .dns, names: names) == .rejected(.unmapped))
        }
    }

    @Test("A name outside the grammar is rejected")
    func grammar() async throws {
        for name in ["alice smith", "alice,bob", "alice/bob", String(repeating: "a", count: 200)] {
            #expect(try await outcome(.init(commonNames: [name]), user: .commonName) == .rejected(.unmapped))
        }
    }

    @Test("Organizational units that are group names become groups if configured")
    func groups() async throws {
        let some = try await outcome(Self.four, user: .commonName, groups: .organizationalUnits)
        #expect(some == accepted("common", groups: ["dispatch"]))
        #expect(try await outcome(Self.four, user: .commonName) == accepted("common"))
    }

    @Test("Other credentials belong to other authenticators")
    func others() async throws {
        let authenticator = try await ClientCertificatePlugin.makeAuthenticator(
            .init(user: .commonName), context: .test())
        #expect(await authenticator.login("alice", "secret") == .notMine)
        #expect(await authenticator.present("token") == .notMine)
    }

    private func read(_ yaml: String) throws -> (ClientCertificatePlugin.Settings?, [String]) {
        let problems = ConfigurationProblems()
        let reader = ConfigurationReader(
            try YAMLDocument.parse(yaml, file: "gateway.yaml"), directory: "", problems: problems)
        let settings = ClientCertificatePlugin.readSettings(reader)
        reader.finish()
        return (settings, problems.all.map(\.description))
    }

    @Test("Settings are read, and each mistake is reported")
    func settings() throws {
        #expect(try read("{ user: email }").0 == .init(user: .email, groups: .none))
        #expect(try read("{ user: cn, groups-from: ou }").0 == .init(user: .commonName, groups: .organizationalUnits))
        #expect(try read("{ user: dns, prefix: a, suffix: b }").0 == .init(user: .dns, prefix: "a", suffix: "b"))
        for (yaml, mistake) in [
            ("{}", "\"user\" is missing"), ("{ user: san }", "\"san\" is not one of: email, uri, dns, cn"),
            ("{ user: cn, groups-from: dn }", "\"dn\" is not one of: none, ou"),
            ("{ user: cn, prefix: \"\" }", "must not be empty"),
            ("{ user: cn, key: 1 }", "key"),
        ] {
            let problems = try read(yaml).1
            #expect(problems.count == 1 && problems[0].contains(mistake), "\(problems)")
        }
    }

    @Test("The README's example is valid")
    func readme() throws {
        let settings = try PluginReadme().settings(of: ClientCertificatePlugin.self)
        #expect(settings == .init(user: .email, suffix: "@example.com", groups: .organizationalUnits))
    }
}
