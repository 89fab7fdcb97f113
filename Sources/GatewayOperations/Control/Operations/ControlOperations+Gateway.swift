package import Gateway
package import GatewayCore
package import GatewayStore
package import GatewaySupport
internal import Logging

extension ControlOperations {
    /// The dependencies of the operations of a running gateway.
    package struct Parts: Sendable {
        let throttle: LoginThrottle
        /// Returns the limiter of the current configuration.
        let limiter: @Sendable () -> Limiter
        let names: NameRules
        /// Reads configuration and files again and returns the problems; nil if the gateway is stopping.
        let reload: @Sendable () async -> [ConfigurationProblem]?
        let dryRun: HotSwappable<DryRun>
        /// Returns the policy of the current configuration.
        let policy: @Sendable () -> Policy
        let metrics: CallMetrics
        let stores: StoreOperations
        let history: RecordedHistory
        let verifier: JournalVerifier
        /// The gateways that share the store; nil for a gateway with a ledger in a file.
        let nodes: StoreNodes?
        let accounts: AccountMonitor

        /// Creates the dependencies.
        package init(
            throttle: LoginThrottle, limiter: @escaping @Sendable () -> Limiter, names: NameRules,
            reload: @escaping @Sendable () async -> [ConfigurationProblem]?, dryRun: HotSwappable<DryRun>,
            policy: @escaping @Sendable () -> Policy, metrics: CallMetrics, stores: StoreOperations,
            history: RecordedHistory, verifier: JournalVerifier, nodes: StoreNodes?, accounts: AccountMonitor
        ) {
            self.throttle = throttle
            self.limiter = limiter
            self.names = names
            self.reload = reload
            self.dryRun = dryRun
            self.policy = policy
            self.metrics = metrics
            self.stores = stores
            self.history = history
            self.verifier = verifier
            self.nodes = nodes
            self.accounts = accounts
        }
    }

    /// Returns every operation of a running gateway. No other place lists them.
    package static func all(_ parts: Parts) -> [any ControlOperation] {
        let accounts = parts.accounts
        return [
            ReloadOperation(reload: parts.reload),
            ListBansOperation(throttle: parts.throttle),
            LiftBansOperation(throttle: parts.throttle, names: parts.names),
            ShowLimitsOperation(limiter: parts.limiter, names: parts.names),
            ResetLimitsOperation(limiter: parts.limiter, names: parts.names),
            ExplainOperation(dryRun: parts.dryRun, names: parts.names),
            ShowPolicyOperation(policy: parts.policy, metrics: parts.metrics),
            ListSendsOperation(history: parts.history, names: parts.names),
            ListRefusalsOperation(history: parts.history, names: parts.names),
            ShowCallOperation(history: parts.history),
            MinuteStatisticsOperation(history: parts.history),
            PairStatisticsOperation(history: parts.history, names: parts.names),
            ListSegmentsOperation(history: parts.history),
            VerifyJournalOperation(verifier: parts.verifier),
            ListNodesOperation(nodes: parts.nodes),
            ApplyAccountsOperation(agreement: parts.nodes) { await accounts.retry() },
            ShowUserOperation(
                ledger: parts.stores.ledger, sessions: parts.stores.sessions, history: parts.history,
                throttle: parts.throttle, limiter: parts.limiter, names: parts.names),
        ] + parts.stores.all
    }
}
