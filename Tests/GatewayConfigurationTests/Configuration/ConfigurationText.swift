import GatewayCore
import GatewaySupport
import GatewayTesting

@testable import GatewayConfiguration

/// Configuration texts and their problems.
enum ConfigurationText {
    /// A complete configuration for tests of a single setting.
    static let good = """
        backend: { url: embedded }
        authenticators: [{ fixed: {} }]
        policy: { send: [{ from: "*", to: "*" }] }

        """

    /// Returns all problems in the form that an operator reads.
    static func problems(_ text: String, environment: [String: String] = [:]) -> [String] {
        ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "/etc/notify-gateway", catalog: PluginCatalog([FixedPlugin.self]),
            environment: environment
        ).problems.map(\.description)
    }
}
