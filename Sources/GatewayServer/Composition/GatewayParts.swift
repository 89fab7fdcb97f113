internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import Logging

/// What of a gateway stays while configurations come and go: its stores, and what it remembers of callers.
struct GatewayParts: Sendable {
    let stores: OpenStores
    let verdicts: VerdictCache
    let throttle: LoginThrottle
    let sends: SendMemory
    let history: RecordedHistory
    let sweeper: RegistrationSweeper
    let accounts: AccountWatch
    let review: AccountReview
    let current: CurrentRules
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
    struct CurrentRules: Sendable {
        let chain: Current<AuthenticatorChain>
        let made: Current<AuthenticatorAssembly.Made>
        let handles: Current<HandleRules>
        let explainer: Current<CallExplainer>
        let limiter: Current<Limiter>
        let drain: Current<ServerConfiguration.DrainSection>
        let authentication: Current<AuthenticationRules>
    }

    /// The authenticators of a configuration, to be validated and made.
    func assembly(of configuration: ServerConfiguration) -> AuthenticatorAssembly {
        AuthenticatorAssembly(
            plugins: configuration.authenticators, names: configuration.names, pool: pool, filePool: filePool,
            clocks: clocks,
            logger: logger, metrics: metrics)
    }

    /// What a gateway of the configuration decides by, with what is remembered so far.
    func rules(of configuration: ServerConfiguration, chain: AuthenticatorChain, limiter: Limiter) -> GatewayRules {
        configuration.rules(chain: chain, limiter: limiter, throttle: throttle, verdicts: verdicts, sends: sends)
    }

    /// Explains what a gateway by these rules would do.
    func explainer(of rules: GatewayRules) -> CallExplainer {
        CallExplainer(
            rules: rules, ledger: stores.ledger, sessions: stores.sessions, clocks: clocks,
            digester: stores.messageDigester)
    }

    /// Those that live on files, each with the memory of what it said.
    func remembered(_ made: AuthenticatorAssembly.Made) -> [any ReloadableAuthenticator] {
        made.reloadable.map { RememberedAuthenticator($0, remembered: verdicts) }
    }

    /// The limiter of other limits: what is spent of those that stay the same stays spent.
    func limiter(of limits: [Limit]) -> Limiter {
        let present = current.limiter.value
        return present.limits == limits ? present : present.replacing(limits)
    }
}
