import Gateway
import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("Secure sends in the configuration")
struct SendsProblemTests {
    private func read(
        _ sends: String, backend: String = "{ hub: embedded }"
    ) -> (section: ServerConfiguration.SendsSection?, problems: [String]) {
        let (configuration, problems) = ConfigurationFile.read(
            """
            backend: \(backend)
            authenticators: [{ fixed: {} }]
            policy: { send: [{ from: "*", to: "*" }] }
            \(sends)
            """, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]))
        return (configuration?.sends, problems.map { String($0.description) })
    }

    @Test("Without the section there are no secure sends")
    func absent() throws {
        let (section, problems) = read("")
        #expect(problems.isEmpty && section == ServerConfiguration.SendsSection())
        #expect(section?.secure == nil)
    }

    @Test("Everybody, those who ask, or users and groups may be secure senders")
    func senders() throws {
        let group = try #require(GroupName("dispatch"))
        let alice = try #require(UserName(canonical: "alice"))
        for (text, senders) in [
            ("all", [RuleSubject.anyUser]), ("requested", []),
            ("[group:dispatch, Alice]", [.group(group), .user(alice)]),
        ] {
            let (section, problems) = read("sends: { secure: \(text) }")
            #expect(problems.isEmpty)
            #expect(section?.secure == SecureSendRules(senders: senders, lifetime: .seconds(604_800)))
        }
    }

    @Test("Lifetime and bounds are read")
    func bounds() throws {
        let (section, problems) = read(
            "sends: { secure: all, lifetime: 2h, texts: 5, size: 2MiB, texts-per-user: 3, size-per-user: 4KiB }")
        #expect(problems.isEmpty && section?.secure?.lifetime == .seconds(7200))
        let bounds = try #require(section?.bounds)
        #expect(bounds.texts == 5 && bounds.bytes == 2 << 20 && bounds.textsPerUser == 3 && bounds.bytesPerUser == 4096)
    }

    @Test(
        "A mistake is reported with its place",
        arguments: [
            ("{}", "sends: \"secure\" is missing; use all, requested, or a list of users and group:NAME"),
            ("{ secure: some }", "sends.secure: must be all, requested, or a list of users and group:NAME"),
            ("{ secure: [] }", "sends.secure: is empty; use requested if senders ask for it"),
            ("{ secure: ['*'] }", "sends.secure: \"*\" is not a user name or group:NAME; use the word all"),
            ("{ secure: ['group:'] }", "sends.secure: \"group:\" is not a user name, group:NAME or *"),
        ])
    func mistakes(sends: String, problem: String) {
        let (_, problems) = read("sends: \(sends)")
        #expect(problems.count == 1 && problems.first?.contains(problem) == true, "\(problems)")
    }

    @Test("A lifetime out of range and an unknown key are reported")
    func others() {
        #expect(read("sends: { secure: all, lifetime: 91d }").problems.count == 1)
        #expect(read("sends: { secure: all, lifetime: 59s }").problems.count == 1)
        #expect(read("sends: { secure: all, texts: 0 }").problems.count == 1)
        #expect(read("sends: { secure: all, secrets: 1 }").problems.count == 1)
    }

    @Test("A notify-users backend writes the text itself, so it cannot be behind secure sends")
    func backend() {
        let (_, problems) = read("sends: { secure: requested }", backend: "{ url: embedded }")
        #expect(problems.count == 1 && problems.first?.contains("sends.secure: needs \"backend.hub\"") == true)
    }
}
