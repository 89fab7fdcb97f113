internal import Gateway
internal import GatewayCore
internal import Logging

extension ControlOperations {
    /// The dependencies of the operations of a running gateway.
    struct Parts: Sendable {
        let throttle: LoginThrottle
        /// Returns the limiter of the current configuration.
        let limiter: @Sendable () -> Limiter
        let names: NameRules
        let reloading: ReloadService
        let dryRun: HotSwappable<DryRun>
        let stores: StoreOperations
    }

    /// Returns every operation of a running gateway. No other place lists them.
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
