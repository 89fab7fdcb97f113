internal import Gateway
internal import GatewayCore
internal import Logging

extension ControlOperations {
    /// What the operations of a gateway work on.
    struct Parts: Sendable {
        let throttle: LoginThrottle
        /// The limiter of the configuration in force.
        let limiter: @Sendable () -> Limiter
        let names: NameRules
        let reloading: ReloadService
        let dryRun: HotSwappable<DryRun>
        let stores: StoreOperations
    }

    /// Every operation of a gateway. The only place that names them.
    static func all(_ parts: Parts) -> [any ControlOperation] {
        [
            ReloadOperation(reloading: parts.reloading),
            ListBansOperation(throttle: parts.throttle),
            LiftBansOperation(throttle: parts.throttle, names: parts.names),
            ShowLimitsOperation(limiter: parts.limiter, names: parts.names),
            ResetLimitsOperation(limiter: parts.limiter, names: parts.names),
            ExplainOperation(dryRun: parts.dryRun, names: parts.names),
        ] + parts.stores.all
    }
}
