internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import Logging

/// What of a gateway stays while configurations come and go: its stores, and what it remembers of callers.
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

    /// How often the configuration was read again.
    struct Reloads: Sendable {
        let exchanged = Counter()
        let kept = Counter()
    }

    /// What others than the way of a call decide by at present.
    struct CurrentConfiguration: Sendable {
        let chain: HotSwappable<AuthenticatorChain>
        let made: HotSwappable<AuthenticatorAssembly.Made>
        let handles: HotSwappable<HandleRules>
        let dryRun: HotSwappable<DryRun>
        let limiter: HotSwappable<Limiter>
        let drain: HotSwappable<ServerConfiguration.DrainSection>
        let authentication: HotSwappable<AuthenticationRules>
    }

    /// The authenticators of a configuration, to be validated and made.
    func assembly(of configuration: ServerConfiguration) -> AuthenticatorAssembly {
        AuthenticatorAssembly(
            plugins: configuration.authenticators, names: configuration.names, pool: pool, filePool: filePool,
            clocks: clocks,
            logger: logger, metrics: metrics)
    }

    /// What a gateway of the configuration decides by, with what is remembered so far.
    func rules(
        of configuration: ServerConfiguration, chain: AuthenticatorChain, limiter: Limiter
    ) -> CompiledConfiguration {
        configuration.rules(
            chain: chain, limiter: limiter, throttle: throttle, passwordCache: passwordCache, sends: sends)
    }

    /// Explains what a gateway by these rules would do.
    func dryRun(of rules: CompiledConfiguration) -> DryRun {
        DryRun(
            rules: rules, ledger: stores.ledger, sessions: stores.sessions, clocks: clocks,
            digester: stores.messageDigester)
    }

    /// Those that live on files, each with the memory of what it said.
    func remembered(_ made: AuthenticatorAssembly.Made) -> [any ReloadableAuthenticator] {
        made.reloadable.map { CachedAuthenticator($0, remembered: passwordCache) }
    }

    /// The limiter of other limits: what is spent of those that stay the same stays spent.
    func limiter(of limits: [Limit]) -> Limiter {
        let present = current.limiter.value
        return present.limits == limits ? present : present.replacing(limits)
    }
}
