package import Gateway
package import GatewayCore
package import GatewaySupport
package import Logging

/// Validates the configured authenticators and creates the authenticator chain from them.
package struct AuthenticatorAssembly {
    let plugins: [ConfiguredPlugin]
    let names: NameRules
    let pool: BlockingPool
    /// The pool that reads files. If it is nil, `pool` reads them.
    var filePool: BlockingPool?
    let clocks: Clocks
    let logger: Logger
    /// The counters of authentication results; nil if they are not counted.
    var metrics: CallMetrics?
    /// Whether the authenticators replace those of a running gateway.
    package var isReload = false

    /// Returns the problems of all authenticators, and a warning for each two that may have the same user.
    package func problems() async -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []
        var members: [AuthenticatorOverlaps.Member] = []
        for (index, plugin) in plugins.enumerated() {
            let context = context(of: index, revocations: EmptyRevocationList())
            problems += await plugin.problems(context)
            members.append(.init(plugin: plugin, listed: await plugin.listedUsers(context)))
        }
        return problems + AuthenticatorOverlaps(members: members).problems
    }

    /// The created authenticators.
    package struct Made {
        /// The chain in the order of the configuration.
        package var chain: AuthenticatorChain
        /// Each authenticator with the configuration that it was created from.
        fileprivate var links: [(plugin: ConfiguredPlugin, isLastOfItsKind: Bool, authenticator: any Authenticator)] =
            []
        /// The authenticators that read files.
        package var reloadable: [any ReloadableAuthenticator] = []
        /// The account lists of the authenticators that have one, in the order of the configuration.
        package var lists: [ScopedAccountList] = []
    }

    /// Creates the authenticators.
    ///
    /// - Parameters:
    ///   - revocations: The list of revoked tokens and sessions.
    ///   - former: The authenticators of the previous configuration. One with unchanged configuration that reads no
    ///     files is reused with its workers and connections. The others are created again.
    package func make(revocations: any RevocationList, keepingFrom former: Made? = nil) async throws -> Made {
        var made = Made(chain: AuthenticatorChain([]))
        var links: [AuthenticatorChain.Link] = []
        for (index, plugin) in plugins.enumerated() {
            let context = context(of: index, revocations: revocations)
            let authenticator: any Authenticator
            if let known = former?.authenticator(of: plugin, isLastOfItsKind: context.isLastOfItsKind) {
                authenticator = known
            } else {
                authenticator = try await plugin.make(context)
            }
            made.links.append((plugin, context.isLastOfItsKind, authenticator))
            if let lives = authenticator as? any ReloadableAuthenticator { made.reloadable.append(lives) }
            if let list = authenticator as? any AccountList {
                made.lists.append(ScopedAccountList(name: plugin.name, scope: plugin.scope, list: list))
            }
            links.append(link(of: plugin, authenticator))
        }
        made.chain = AuthenticatorChain(links)
        return made
    }

    /// Creates a chain for a command that queries accounts. An authenticator that cannot be created is logged, and
    /// reports the status of every account as unknown.
    package func makeChain(revocations: any RevocationList) async -> AuthenticatorChain {
        var links: [AuthenticatorChain.Link] = []
        for (index, plugin) in plugins.enumerated() {
            do {
                let authenticator = try await plugin.make(context(of: index, revocations: revocations))
                links.append(link(of: plugin, authenticator))
            } catch {
                logger.warning(
                    "Authenticator could not be created",
                    metadata: ["authenticator": "\(plugin.name)", "detail": "\(OperatorMessage.of(error))"])
                links.append(link(of: plugin, UnusableAuthenticator()))
            }
        }
        return AuthenticatorChain(links)
    }

    private func link(of plugin: ConfiguredPlugin, _ authenticator: any Authenticator) -> AuthenticatorChain.Link {
        .init(
            name: plugin.name, credentialKinds: plugin.credentialKinds, scope: plugin.scope,
            outcomeDependsOnPeer: plugin.outcomeDependsOnPeer, authenticator: authenticator,
            metrics: metrics?.authenticator(plugin.name))
    }

    private func context(of index: Int, revocations: any RevocationList) -> PluginContext {
        var logger = logger
        logger[metadataKey: "authenticator"] = "\(plugins[index].name)"
        let later = plugins[(index + 1)...].reduce(into: Set<CredentialKind>()) { $0.formUnion($1.credentialKinds) }
        return PluginContext(
            logger: logger, blockingPool: pool, filePool: filePool, clocks: clocks, names: names,
            isLastOfItsKind: plugins[index].credentialKinds.isDisjoint(with: later), revocations: revocations,
            isReload: isReload)
    }
}

extension AuthenticatorAssembly {
    /// Creates the assembly of a configuration's authenticators.
    package init(
        of configuration: ServerConfiguration, pool: BlockingPool, filePool: BlockingPool? = nil, clocks: Clocks,
        logger: Logger, metrics: CallMetrics? = nil
    ) {
        self.init(
            plugins: configuration.authenticators, names: configuration.names, pool: pool, filePool: filePool,
            clocks: clocks, logger: logger, metrics: metrics)
    }
}

extension AuthenticatorAssembly.Made {
    /// Returns the authenticator that was created from the same settings, unless it reads files.
    fileprivate func authenticator(of plugin: ConfiguredPlugin, isLastOfItsKind: Bool) -> (any Authenticator)? {
        links.first { link in
            link.plugin.name == plugin.name && link.plugin.settings == plugin.settings
                && link.isLastOfItsKind == isLastOfItsKind && !(link.authenticator is any ReloadableAuthenticator)
        }?.authenticator
    }
}

extension AuthenticatorAssembly.Made {
    /// The load of the authenticators that have workers or connections of their own.
    package var loads: [(name: PluginName, load: [AuthenticatorLoad])] {
        links.compactMap { link in
            (link.authenticator as? any MeasuredAuthenticator).map { (link.plugin.name, $0.load) }
        }
    }

    /// The keys of the authenticators that read them from an identity provider.
    package var providerKeys: [ProviderKeyStatus] {
        links.compactMap { ($0.authenticator as? any ProviderKeyReader)?.providerKeys }
    }
}

/// A substitute for an authenticator that could not be created.
private struct UnusableAuthenticator: AccountAuthenticator {
    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        .unavailable(.unreachable)
    }
    func status(of login: LoginName) async -> AccountStatus { .unknown(.failed) }
}
