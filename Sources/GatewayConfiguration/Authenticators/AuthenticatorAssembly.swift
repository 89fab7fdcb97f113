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
    /// The ends of listed accounts that wait for an operator; nil for a chain that ends none.
    package var massEnds: MassEnds?
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
        fileprivate var links: [Created] = []
        /// The authenticators that read files.
        package var reloadable: [any ReloadableAuthenticator] = []
        /// The account lists of the authenticators that have one, in the order of the configuration.
        package var lists: [ScopedAccountList] = []
        /// The authenticators of the previous configuration that read files and were kept. They have not read them again.
        package var kept: [any ReloadableAuthenticator] = []
        /// The names of authenticators of the previous configuration that are gone or were created again, so that a login
        /// in progress there has been verified by none of these. An account list that was created again announces what its
        /// accounts lose, and a token issuer that was created again still has its sessions.
        package var withdrawn: Set<PluginName> = []
    }

    /// An authenticator with the configuration that it was created from.
    fileprivate struct Created {
        let plugin: ConfiguredPlugin
        let isLastOfItsKind: Bool
        let authenticator: any Authenticator
        /// The contents of the files that the configuration names, before the authenticator read them.
        let files: FileDigests
    }

    /// Creates the authenticators.
    ///
    /// - Parameters:
    ///   - revocations: The list of revoked tokens and sessions.
    ///   - former: The authenticators of the previous configuration. One with unchanged configuration, and with unchanged
    ///     files unless it reads these again when they change, is reused with its workers and connections. The others are
    ///     created again.
    package func make(revocations: any RevocationList, keepingFrom former: Made? = nil) async throws -> Made {
        var made = Made(chain: AuthenticatorChain([]))
        var links: [AuthenticatorChain.Link] = []
        var unused = former?.links ?? []
        for (index, plugin) in plugins.enumerated() {
            let context = context(of: index, revocations: revocations)
            let created: Created
            let files = try await digests(of: plugin)
            let isLast = context.isLastOfItsKind
            if let known = unused.firstIndex(where: { $0.isUsable(for: plugin, isLastOfItsKind: isLast, files) }) {
                created = unused.remove(at: known)
                if let lives = created.authenticator as? any ReloadableAuthenticator { made.kept.append(lives) }
            } else {
                created = Created(
                    plugin: plugin, isLastOfItsKind: isLast, authenticator: try await plugin.make(context), files: files
                )
            }
            let authenticator = created.authenticator
            made.links.append(created)
            if let lives = authenticator as? any ReloadableAuthenticator { made.reloadable.append(lives) }
            if let list = authenticator as? any AccountList {
                made.lists.append(ScopedAccountList(name: plugin.name, scope: plugin.scope, list: list))
            }
            links.append(link(of: plugin, authenticator))
        }
        made.chain = AuthenticatorChain(links, massEnds: massEnds)
        for link in unused {
            let announcesItself = link.authenticator is any AccountList || link.authenticator is any TokenIssuer
            if !announcesItself || !made.chain.contains(link.plugin.name) { made.withdrawn.insert(link.plugin.name) }
        }
        return made
    }

    /// Returns the digests of the files that the configuration of a plug-in names.
    private func digests(of plugin: ConfiguredPlugin) async throws -> FileDigests {
        do {
            return try await (filePool ?? pool).run { FileDigests(of: plugin.files) }
        } catch {
            throw ConfigurationProblem(
                at: plugin.location, path: plugin.path, "its files were not read: too many pending tasks; try again")
        }
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

extension AuthenticatorAssembly.Created {
    /// Returns whether the authenticator was created from the same settings and files. One that reads its files again when
    /// they change has the present files in any case.
    fileprivate func isUsable(
        for plugin: ConfiguredPlugin, isLastOfItsKind: Bool, _ files: FileDigests
    ) -> Bool {
        self.plugin.name == plugin.name && self.plugin.settings == plugin.settings
            && self.isLastOfItsKind == isLastOfItsKind
            && (authenticator is any ReloadableAuthenticator || self.files == files)
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
