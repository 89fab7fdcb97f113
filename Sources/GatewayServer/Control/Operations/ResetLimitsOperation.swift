internal import Gateway
internal import GatewayCore

/// `limits reset`: forgets what was spent of limits: by whoever is named, of one limit, or all of it. Counts at once.
struct ResetLimitsOperation: ControlOperation {
    static let name = "limits reset"
    static let arguments = LimitSelector.arguments.union(["all"])

    /// The limiter of the configuration in force.
    let limiter: @Sendable () -> Limiter
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let selector = try LimitSelector(arguments, of: limiter(), names: names)
        guard try arguments.flag("all") == selector.isEverything else {
            throw .malformed("Either all must be given, or what to reset.")
        }
        try await context.record(
            .operatorResetLimits, user: selector.user, target: selector.isEverything ? "all" : selector.target)
        let reset = limiter().reset(selector)
        try await context.send(.object([.init("reset", .number(String(reset)))]))
    }
}
