internal import Gateway
internal import GatewayConfiguration
internal import GatewayConsole
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
internal import ServiceLifecycle

/// The state about callers, which outlives a reload, and the rules of calls that others than the pipeline use.
struct CallsSubsystem: ReloadParticipant {
    let passwordCache: PasswordCache
    let throttle: LoginThrottle
    let sends: IdempotencyStore
    /// The limiter of the current configuration.
    let limiter: HotSwappable<Limiter>
    /// Shares the state of limits and of the throttle with other nodes; nil without PostgreSQL.
    let debtExchange: DebtExchange?
    /// The dry run under the current rules.
    let dryRun: HotSwappable<DryRun>
    /// The grammar of device handles in the current configuration.
    let handles: HotSwappable<HandleRules>
    /// The registrations of the notification hub in the current configuration, for operators; nil without a hub elsewhere.
    let hub: HotSwappable<HubRegistrations?>
    /// The policy of the current configuration.
    let policy: HotSwappable<Policy>
    /// The users with access to the console in the current configuration.
    let consoleAccess: HotSwappable<ConsoleAccess>
    /// The time limits of the drain in the current configuration.
    let drain: HotSwappable<ServerConfiguration.DrainSection>
    /// The rules at the start.
    let firstRules: CompiledConfiguration
    private let restoration: IdempotentSendRestoration
    private let makeDryRun: @Sendable (CompiledConfiguration) -> DryRun

    /// Creates the state and the rules of the first configuration.
    ///
    /// - Parameter tls: The verification of each backend's certificate; nil without TLS.
    init(_ context: ServerContext, _ stores: GatewayStores, chain: AuthenticatorChain, tls: [ClientTLS?]) {
        let (configuration, clocks) = (context.configuration, context.clocks)
        passwordCache = PasswordCache(clocks: clocks)
        let sharing = stores.debtKey.map(DebtSharing.init)
        throttle = LoginThrottle(clocks: clocks, sharing: sharing)
        sends = IdempotencyStore(clocks: clocks, isRestored: false)
        restoration = IdempotentSendRestoration(sends, stores, logger: context.logger)
        let firstLimiter = Limiter(configuration.limits, clocks: clocks, sharing: sharing)
        limiter = HotSwappable(firstLimiter)
        // The first limiter's successors have the same state.
        if let sharing, let debts = stores.debts {
            debtExchange = DebtExchange(
                debts, sharing, [firstLimiter, throttle], clocks: clocks, logger: context.logger)
        } else {
            debtExchange = nil
        }
        handles = HotSwappable(configuration.backend.handles)
        hub = HotSwappable(HubRegistrations(configuration: configuration, tls: tls, clocks: clocks))
        drain = HotSwappable(configuration.drain)
        policy = HotSwappable(configuration.policy)
        consoleAccess = HotSwappable(configuration.consoleAccess)
        firstRules = configuration.rules(
            chain: chain, limiter: firstLimiter, throttle: throttle, passwordCache: passwordCache, sends: sends)
        makeDryRun = { rules in
            DryRun(
                rules: rules, ledger: stores.ledger, sessions: stores.sessions, clocks: clocks,
                digester: stores.messageDigester)
        }
        dryRun = HotSwappable(makeDryRun(firstRules))
    }

    /// The services of the state about callers.
    var services: [any Service] { [restoration] + (debtExchange.map { [$0] } ?? []) }

    /// Returns the rules of another configuration, with the present state about callers. Limits that stay the same keep
    /// their counts.
    func rules(of configuration: ServerConfiguration, chain: AuthenticatorChain) -> CompiledConfiguration {
        let present = limiter.value
        let limiter = present.limits == configuration.limits ? present : present.replacing(configuration.limits)
        return configuration.rules(
            chain: chain, limiter: limiter, throttle: throttle, passwordCache: passwordCache, sends: sends)
    }

    /// Uses the limiter and the rules for operators from now on, because new calls use them.
    func use(_ rules: CompiledConfiguration) {
        limiter.value = rules.limiter
        dryRun.value = makeDryRun(rules)
    }

    func adopt(_ configuration: ServerConfiguration, _ made: AuthenticatorAssembly.Made) async {
        passwordCache.removeAll()
        drain.value = configuration.drain
        policy.value = configuration.policy
        consoleAccess.value = configuration.consoleAccess
        handles.value = configuration.backend.handles
    }

    /// Returns the authenticators that read files, each of which also clears the password cache when it reloads them.
    func clearingPasswordCache(_ made: AuthenticatorAssembly.Made) -> [any ReloadableAuthenticator] {
        made.reloadable.map { CachedAuthenticator($0, remembered: passwordCache) }
    }
}

extension ServerConfiguration {
    /// The users with access to the console; nobody without one.
    fileprivate var consoleAccess: ConsoleAccess {
        ConsoleAccess(
            viewers: console?.viewers ?? [], operators: console?.operators ?? [],
            isForEveryUser: console?.isSelfService ?? false)
    }
}
