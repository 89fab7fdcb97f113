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
        /// The calls of this gateway, or of all that share the store.
        let calls: any CallHistory
        /// The numbers of the same calls.
        let statistics: any CallStatistics
        /// The name of this gateway if several may share the store.
        let node: String?
        let verifier: JournalVerifier
        /// The gateways that share the store; nil for a gateway with a ledger in a file.
        let nodes: StoreNodes?
        /// The ends of accounts that wait for an operator.
        let massEnds: MassEnds
        /// Applies at once what waited for an operator.
        let applyAccounts: @Sendable () async -> Void

        /// Creates the dependencies.
        package init(
            throttle: LoginThrottle, limiter: @escaping @Sendable () -> Limiter, names: NameRules,
            reload: @escaping @Sendable () async -> [ConfigurationProblem]?, dryRun: HotSwappable<DryRun>,
            policy: @escaping @Sendable () -> Policy, metrics: CallMetrics, stores: StoreOperations,
            history: RecordedHistory, calls: any CallHistory, statistics: any CallStatistics, node: String?,
            verifier: JournalVerifier, nodes: StoreNodes?, massEnds: MassEnds,
            applyAccounts: @escaping @Sendable () async -> Void
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
            self.calls = calls
            self.statistics = statistics
            self.node = node
            self.verifier = verifier
            self.nodes = nodes
            self.massEnds = massEnds
            self.applyAccounts = applyAccounts
        }
    }

    /// Returns every operation of a running gateway. No other place lists them.
    package static func all(_ parts: Parts) -> [any ControlOperation] {
        [
            ReloadOperation(reload: parts.reload),
            ListBansOperation(throttle: parts.throttle),
            LiftBansOperation(throttle: parts.throttle, names: parts.names),
            ShowLimitsOperation(limiter: parts.limiter, names: parts.names),
            ResetLimitsOperation(limiter: parts.limiter, names: parts.names),
            ExplainOperation(dryRun: parts.dryRun, names: parts.names),
            ShowPolicyOperation(policy: parts.policy, metrics: parts.metrics),
            ListSendsOperation(calls: parts.calls, names: parts.names),
            ListRefusalsOperation(calls: parts.calls, names: parts.names),
            ShowCallOperation(calls: parts.calls),
            MinuteStatisticsOperation(statistics: parts.statistics),
            PairStatisticsOperation(statistics: parts.statistics, names: parts.names),
            ListSegmentsOperation(history: parts.history, node: parts.node),
            VerifyJournalOperation(verifier: parts.verifier),
            ListNodesOperation(nodes: parts.nodes),
            ListWaitingAccountsOperation(massEnds: parts.massEnds),
            ApplyAccountsOperation(agreement: parts.nodes, massEnds: parts.massEnds, retry: parts.applyAccounts),
            ShowUserOperation(
                ledger: parts.stores.ledger, sessions: parts.stores.sessions, history: parts.calls,
                throttle: parts.throttle, limiter: parts.limiter, names: parts.names),
        ] + parts.stores.all
    }
}
