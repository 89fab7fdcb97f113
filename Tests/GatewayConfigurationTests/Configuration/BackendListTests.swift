import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("Several backends in the configuration")
struct BackendListTests {
    private static let hub =
        "hub: { name: news, connection-string: \"Endpoint=sb://contoso.servicebus.windows.net/;"
        + "SharedAccessKeyName=Send;SharedAccessKey=c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1sb25nLi4uLi4=\" }"
    private static let classic = "url: \"http://127.0.0.1:5000\""

    private func read(_ entries: String...) -> (ServerConfiguration?, [ConfigurationProblem]) {
        let text = """
            backend:
            \(entries.map { "  - { \($0) }" }.joined(separator: "\n"))
            authenticators: [{ fixed: {} }]
            policy: { send: [{ from: "*", to: "*" }] }
            """
        return ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]))
    }

    private func problems(_ entries: String...) -> [String] {
        let text = """
            backend:
            \(entries.map { "  - { \($0) }" }.joined(separator: "\n"))
            authenticators: [{ fixed: {} }]
            policy: { send: [{ from: "*", to: "*" }] }
            """
        return ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self])
        ).problems.map { "\($0.severity) \($0.path)" }
    }

    @Test("One entry names its platforms, and the other one serves the rest")
    func rest() throws {
        let (configuration, problems) = read("platforms: [fcm], \(Self.hub)", Self.classic)
        #expect(problems.isEmpty)
        let backends = try #require(configuration).backends
        #expect(backends.map(\.services) == [[.fcm], [.apns, .wns, .mpns]])
        #expect(
            backends.map(\.name.text) == ["https://contoso.servicebus.windows.net:443/news", "http://127.0.0.1:5000"])
        #expect(backends.map { $0.hub == nil } == [false, true])
    }

    @Test("A single backend serves every platform, and takes no platforms")
    func single() throws {
        let text = """
            backend: { url: "http://127.0.0.1:5000", platforms: [apns] }
            authenticators: [{ fixed: {} }]
            policy: { send: [{ from: "*", to: "*" }] }
            """
        let problems = ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self])
        ).problems
        #expect(problems.map(\.path) == ["backend.platforms"])
        let one = read(Self.classic).0
        #expect(one?.backends.map(\.services) == [Set(PushService.allCases)])
    }

    @Test("A platform without a backend is a warning that names it")
    func uncovered() throws {
        let (configuration, problems) = read("platforms: [fcm], \(Self.hub)", "platforms: [apns], \(Self.classic)")
        #expect(configuration != nil && problems.count == 1)
        let problem = try #require(problems.first)
        #expect(problem.severity == .warning && problem.path == "backend")
        #expect(problem.message.contains("serves wns, mpns;"))
    }

    @Test("Mistakes in a list are errors at their entries")
    func mistakes() {
        #expect(problems(Self.classic, Self.hub) == ["error backend[1]"])
        #expect(problems("platforms: [apns, android], \(Self.classic)", Self.hub) == ["error backend[0].platforms"])
        #expect(
            problems("platforms: [apns], \(Self.hub)", "platforms: [apns], \(Self.classic)", "url: \"http://[::1]:1\"")
                == ["error backend[1].platforms"])
        #expect(problems("platforms: [], \(Self.hub)", Self.classic) == ["error backend[0].platforms"])
        #expect(
            problems("platforms: [apns, wns, mpns, fcm], \(Self.hub)", Self.classic) == ["error backend[1]"])
        #expect(problems("platforms: [fcm], \(Self.classic)", Self.classic) == ["error backend[1]"])
        #expect(
            problems("platforms: [fcm], \(Self.hub)", Self.hub.replacing("news", with: "other"))
                == ["error backend[1].hub"])
        #expect(
            problems("platforms: [mpns], profile: net6, \(Self.classic)", "profile: net6, url: embedded")
                == ["error backend[0].platforms"])
    }

    @Test("Clients have one protocol, whichever entry sets it")
    func clients() throws {
        let backends = try #require(
            read("platforms: [fcm], \(Self.hub)", "\(Self.classic), profile: core, messages: literal").0
        ).backends
        #expect(backends.allSatisfy { $0.profile.client == BackendProfile(.core).client && $0.messages == .literal })
        #expect(backends[0].profile.backend == .hub && backends[1].profile.backend == BackendProfile(.core).backend)
        #expect(
            problems("platforms: [fcm], profile: classic, \(Self.hub)", "\(Self.classic), profile: core")
                == ["error backend[1].profile"])
        #expect(
            problems("platforms: [fcm], messages: auto, \(Self.hub)", "\(Self.classic), messages: literal")
                == ["error backend[1].messages"])
    }
}
