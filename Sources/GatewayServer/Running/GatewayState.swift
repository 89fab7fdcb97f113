internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
internal import Logging

/// The components of a gateway that outlive a reload of the configuration: its stores, and its state about callers.
struct GatewayState: Sendable {
    let stores: GatewayStores
    let passwordCache: PasswordCache
    let throttle: LoginThrottle
    let sends: IdempotencyStore
    let history: RecordedHistory
    let sweeper: RegistrationSweeper
    let accounts: AccountMonitor
    let review: AccountRecheck
    let current: CurrentConfiguration
    let metrics: CallMetrics
    let reloads = Reloads()
    let pool: BlockingPool
    let filePool: BlockingPool
    let clocks: Clocks
    let logger: Logger

    /// The counters of reloads, by result.
    struct Reloads: Sendable {
        let exchanged = Counter()
        let kept = Counter()
    }

    /// The parts of the current configuration that components outside the request pipeline use.
    struct CurrentConfiguration: Sendable {
        let chain: HotSwappable<AuthenticatorChain>
        let made: HotSwappable<AuthenticatorAssembly.Made>
        let handles: HotSwappable<HandleRules>
        let dryRun: HotSwappable<DryRun>
        let limiter: HotSwappable<Limiter>
        let drain: HotSwappable<ServerConfiguration.DrainSection>
        let authentication: HotSwappable<AuthenticationRules>
    }

    /// Returns the authenticators of a configuration, ready for validation and creation.
    func assembly(of configuration: ServerConfiguration) -> AuthenticatorAssembly {
        AuthenticatorAssembly(
            of: configuration, pool: pool, filePool: filePool, clocks: clocks, logger: logger, metrics: metrics)
    }

    /// Returns the rules of a gateway of the configuration, with the present state about callers.
    func rules(
        of configuration: ServerConfiguration, chain: AuthenticatorChain, limiter: Limiter
    ) -> CompiledConfiguration {
        configuration.rules(
            chain: chain, limiter: limiter, throttle: throttle, passwordCache: passwordCache, sends: sends)
    }

    /// Returns the dry run of a gateway with these rules.
    func dryRun(of rules: CompiledConfiguration) -> DryRun {
        DryRun(
            rules: rules, ledger: stores.ledger, sessions: stores.sessions, clocks: clocks,
            digester: stores.messageDigester)
    }

    /// Returns the authenticators that read files, each of which also clears its cached results on a reload.
    func remembered(_ made: AuthenticatorAssembly.Made) -> [any ReloadableAuthenticator] {
        made.reloadable.map { CachedAuthenticator($0, remembered: passwordCache) }
    }

    /// Returns a limiter of the given limits. Limits that stay the same keep their counts.
    func limiter(of limits: [Limit]) -> Limiter {
        let present = current.limiter.value
        return present.limits == limits ? present : present.replacing(limits)
    }
}
