internal import Gateway
internal import GatewayCore
internal import GatewaySupport

/// `limits reset`: resets the counts of limits: of the selected keys, of one limit, or of all. Takes effect at once.
struct ResetLimitsOperation: ControlOperation {
    static let name = "limits reset"
    static let arguments = LimitSelector.arguments.union(["all"])

    /// Returns the limiter of the current configuration.
    let limiter: @Sendable () -> Limiter
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let selector = try LimitSelector(arguments, of: limiter(), names: names)
        guard try arguments.flag("all") == selector.isEverything else {
            throw .malformed("Give either all or a selection.")
        }
        try await context.record(
            .operatorResetLimits, user: selector.user, target: selector.isEverything ? "all" : selector.target)
        let reset = limiter().reset(selector)
        try await context.send(.object([.init("reset", .number(String(reset)))]))
    }
}
