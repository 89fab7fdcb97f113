internal import GatewayConfiguration

/// A subsystem with settings that a reload changes.
protocol ReloadParticipant: Sendable {
    /// Applies a configuration whose rules are already in effect for new calls. Cannot fail.
    ///
    /// - Parameter made: The authenticators of the configuration.
    func adopt(_ configuration: ServerConfiguration, _ made: AuthenticatorAssembly.Made) async
}
