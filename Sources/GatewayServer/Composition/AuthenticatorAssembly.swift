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
        for index in plugins.indices {
            problems += await plugins[index].problems(context(of: index, revocations: NothingRevoked()))
        }
        return problems
    }

    /// What is made of them.
    struct Made {
        /// All, in the order of the configuration.
        var chain: AuthenticatorChain
        /// Those that live on files.
        var reloadable: [any ReloadableAuthenticator] = []
        /// Those that have a list of their accounts.
        var lists: [(name: PluginName, list: any AccountList)] = []
    }

    /// Makes them, for a gateway that knows what was revoked.
    func make(revocations: any RevocationList) async throws -> Made {
        var made = Made(chain: AuthenticatorChain([]))
        var links: [AuthenticatorChain.Link] = []
        for (index, plugin) in plugins.enumerated() {
            let authenticator = try await plugin.make(context(of: index, revocations: revocations))
            if let lives = authenticator as? any ReloadableAuthenticator { made.reloadable.append(lives) }
            if let lists = authenticator as? any AccountList { made.lists.append((plugin.name, lists)) }
            links.append(
                .init(
                    name: plugin.name, takes: plugin.takes, bounds: plugin.bounds,
                    verdictDependsOnPeer: plugin.verdictDependsOnPeer, authenticator: authenticator))
        }
        made.chain = AuthenticatorChain(links)
        return made
    }

    private func context(of index: Int, revocations: any RevocationList) -> PluginContext {
        var logger = logger
        logger[metadataKey: "authenticator"] = "\(plugins[index].name)"
        let later = plugins[(index + 1)...].reduce(into: Set<CredentialKind>()) { $0.formUnion($1.takes) }
        return PluginContext(
            logger: logger, blockingPool: pool, clocks: clocks, names: names,
            isLastOfItsKind: plugins[index].takes.isDisjoint(with: later), revocations: revocations)
    }
}
