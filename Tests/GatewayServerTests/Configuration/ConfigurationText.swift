import GatewayCore

@testable import GatewayServer

/// Texts of configurations, and what is wrong with them.
enum ConfigurationText {
    /// One that is complete, for whoever looks at one thing alone.
    static let good = """
        backend: { url: embedded }
        authenticators: [{ fixed: {} }]
        policy: { send: [{ from: "*", to: "*" }] }

        """

    /// Every problem, as an operator is told.
    static func problems(_ text: String, environment: [String: String] = [:]) -> [String] {
        ConfigurationFile.read(
            text, file: "gateway.yaml", directory: "/etc/notify-gateway", catalog: PluginCatalog([FixedPlugin.self]),
            environment: environment
        ).problems.map(\.description)
    }
}
