internal import Gateway
internal import GatewayCore

/// `limits show`: who is slowed down at present, the longest first; or how the limits stand for whoever is named, slowed down or
/// not.
struct ShowLimitsOperation: ControlOperation {
    static let name = "limits show"
    static let arguments = LimitSelector.arguments

    /// The limiter of the configuration in force.
    let limiter: @Sendable () -> Limiter
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let limiter = limiter()
        let selector = try LimitSelector(arguments, of: limiter, names: names)
        let statuses =
            selector.isOfWholeLimits
            ? limiter.spent().filter { selector.limit == nil || $0.limit == selector.limit }
            : limiter.statuses(of: selector)
        for status in statuses { try await context.send(status.item) }
    }
}
