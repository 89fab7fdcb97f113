internal import Gateway
internal import GatewayCore
internal import Logging

/// From the authenticators that are configured to the chain that is asked: validated all, then made.
struct AuthenticatorAssembly {
    let plugins: [ConfiguredPlugin]
    let names: NameRules
    let pool: BlockingPool
    let clocks: Clocks
    let logger: Logger

    /// Everything wrong with any of them.
    func problems() async -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []
        for index in plugins.indices { problems += await plugins[index].problems(context(of: index)) }
        return problems
    }

    /// The chain, in the order of the configuration, and those of it that live on files.
    func makeChain() async throws -> (chain: AuthenticatorChain, reloadable: [any ReloadableAuthenticator]) {
        var reloadable: [any ReloadableAuthenticator] = []
        var links: [AuthenticatorChain.Link] = []
        for (index, plugin) in plugins.enumerated() {
            let authenticator = try await plugin.make(context(of: index))
            if let lives = authenticator as? any ReloadableAuthenticator { reloadable.append(lives) }
            links.append(
                .init(
                    name: plugin.name, takes: plugin.takes, bounds: plugin.bounds,
                    verdictDependsOnPeer: plugin.verdictDependsOnPeer, authenticator: authenticator))
        }
        return (AuthenticatorChain(links), reloadable)
    }

    private func context(of index: Int) -> PluginContext {
        var logger = logger
        logger[metadataKey: "authenticator"] = "\(plugins[index].name)"
        let later = plugins[(index + 1)...].reduce(into: Set<CredentialKind>()) { $0.formUnion($1.takes) }
        return PluginContext(
            logger: logger, blockingPool: pool, clocks: clocks, names: names,
            isLastOfItsKind: plugins[index].takes.isDisjoint(with: later))
    }
}
