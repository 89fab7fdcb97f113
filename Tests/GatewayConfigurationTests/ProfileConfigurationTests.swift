import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("Profiles in the configuration")
struct ProfileConfigurationTests {
    private func backend(_ profile: String) throws -> ServerConfiguration.BackendSection {
        let text = """
            backend: { url: "http://127.0.0.1:1", profile: \(profile) }
            authenticators: [{ fixed: {} }]
            policy: { send: [{ from: "*", to: "*" }] }
            """
        let (configuration, problems) = ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]))
        #expect(problems.isEmpty)
        return try #require(configuration).backend
    }

    @Test(
        "A mapping without changes equals the profile that it starts from", arguments: BackendProfile.BuiltIn.allCases)
    func unchanged(name: BackendProfile.BuiltIn) throws {
        for text in ["\(name)", "{ from: \(name) }", "{ from: \(name), client: {}, backend: {} }"] {
            let read = try backend(text)
            #expect(read.profile == BackendProfile(name))
            #expect(read.profileName == name)
        }
    }

    @Test("Each setting changes its own field and nothing else")
    func fields() throws {
        func expect(_ text: String, _ change: (inout BackendProfile) -> Void) throws {
            var expected = BackendProfile(.classic)
            change(&expected)
            #expect(try backend("{ from: classic, \(text) }").profile == expected, "\(text)")
            #expect(expected != BackendProfile(.classic))
        }
        try expect("client: { register-path: /r }") { $0.client.registerPath = "/r" }
        try expect("client: { notifications-path: /n/1 }") { $0.client.notificationsPath = "/n/1" }
        try expect("client: { id-in: query }") { $0.client.idLocations = [.query] }
        try expect("client: { id-in: [query, path] }") { $0.client.idLocations = [.query, .path] }
        try expect("client: { update-status: { wns: 200 } }") { $0.client.updateStatuses[.wns] = 200 }
        try expect("backend: { register-path: /r }") { $0.backend.registerPath = "/r" }
        try expect("backend: { notifications-path: /n }") { $0.backend.notificationsPath = "/n" }
        try expect("backend: { id-in: query }") { $0.backend.idLocation = .query }
        try expect("backend: { id-answer: xml }") { $0.backend.idFormat = .xml }
        try expect("backend: { platforms: { fcm: fcmv1 } }") {
            $0.backend.platformNames = PlatformIdentifiers([.fcmv1])
        }
        try expect("backend: { pns: { apns: apns, fcm: fcm } }") {
            $0.backend.pnsNames = PlatformIdentifiers([.apns, .fcm])
        }
        try expect("backend: { pns: { wns: Windows } }") {
            $0.backend.pnsNames = PlatformIdentifiers([.wns: PlatformIdentifier("Windows")!])!
        }
        try expect("backend: { payload-frames: { apns: 99 } }") { $0.backend.payloadFrames = [.apns: 99] }
        try expect("backend: { success: [202, 200] }") { $0.backend.successStatuses = [200, 202] }
        try expect("backend: { gone: [410] }") { $0.backend.goneStatuses = [410] }
        try expect("backend: { gone: [] }") { $0.backend.goneStatuses = [] }
        try expect("backend: { confirms-updates: false }") { $0.backend.confirmsUpdates = false }
        try expect("backend: { idle: 2min }") { $0.backend.idleTime = .seconds(120) }
    }

    @Test("A profile that is neither a name nor a mapping is rejected")
    func shapes() {
        for profile in ["[classic]", "webapi", "{ from: webapi }", "{}", "{ client: {} }"] {
            let (_, problems) = ConfigurationFile.read(
                "backend: { url: \"http://127.0.0.1:1\", profile: \(profile) }\nauthenticators: [{ fixed: {} }]\n"
                    + "policy: { send: [{ from: \"*\", to: \"*\" }] }",
                file: "gateway.yaml", directory: "", catalog: PluginCatalog([FixedPlugin.self]))
            #expect(problems.count == 1 && problems.first?.path.hasPrefix("backend.profile") == true, "\(profile)")
        }
    }
}
