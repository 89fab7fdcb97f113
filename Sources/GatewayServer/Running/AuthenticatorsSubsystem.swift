internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewaySupport
internal import Logging

/// The authenticators: checked before the stores open, made from the stores' revocations, replaced by a reload.
struct AuthenticatorsSubsystem: ReloadParticipant {
    /// The chain of the current configuration.
    let chain: HotSwappable<AuthenticatorChain>
    /// The time limits of authentication in the current configuration.
    let rules: HotSwappable<AuthenticationRules>
    /// The ends of listed accounts that wait for an operator.
    let massEnds = MassEnds()
    private let current: HotSwappable<AuthenticatorAssembly.Made>
    private let context: ServerContext
    private let revocations: any RevocationList

    /// Makes the authenticators of the first configuration.
    init(_ context: ServerContext, revocations: any RevocationList) async throws {
        var assembly = Self.assembly(of: context.configuration, context)
        assembly.massEnds = massEnds
        let made = try await assembly.make(revocations: revocations)
        chain = HotSwappable(made.chain)
        rules = HotSwappable(context.configuration.authentication)
        current = HotSwappable(made)
        self.context = context
        self.revocations = revocations
    }

    /// Checks the authenticators of the first configuration without making them, and logs warnings.
    ///
    /// - Throws: The problems of all authenticators, if one is an error.
    static func check(_ context: ServerContext) async throws {
        let problems = await assembly(of: context.configuration, context).problems()
        if problems.contains(where: { $0.severity == .error }) { throw ConfigurationError(problems) }
        for problem in problems {
            context.logger.warning("Configuration problem", metadata: ["problem": "\(problem)"])
        }
    }

    /// The authenticators in effect.
    var made: AuthenticatorAssembly.Made { current.value }

    /// Returns the problems of the authenticators of a configuration that a reload would apply.
    func problems(of configuration: ServerConfiguration) async -> [ConfigurationProblem] {
        await reloaded(configuration).problems()
    }

    /// Makes the authenticators of a configuration that a reload applies. Those with unchanged settings are kept.
    func remake(for configuration: ServerConfiguration) async throws -> AuthenticatorAssembly.Made {
        try await reloaded(configuration).make(revocations: revocations, keepingFrom: made)
    }

    func adopt(_ configuration: ServerConfiguration, _ made: AuthenticatorAssembly.Made) async {
        chain.value = made.chain
        current.value = made
        rules.value = configuration.authentication
    }

    private func reloaded(_ configuration: ServerConfiguration) -> AuthenticatorAssembly {
        var assembly = Self.assembly(of: configuration, context)
        assembly.isReload = true
        assembly.massEnds = massEnds
        return assembly
    }

    private static func assembly(
        of configuration: ServerConfiguration, _ context: ServerContext
    ) -> AuthenticatorAssembly {
        AuthenticatorAssembly(
            of: configuration, pool: context.threads.pool, filePool: context.threads.filePool, clocks: context.clocks,
            logger: context.logger, metrics: context.metrics)
    }
}
