internal import Gateway
internal import GatewayCore

/// `limits show`: lists the keys that limits slow down at present, the longest first. With a selector, lists the status
/// of the selected keys, slowed down or not.
struct ShowLimitsOperation: ControlOperation {
    static let name = "limits show"
    static let arguments = LimitSelector.arguments

    /// Returns the limiter of the current configuration.
    let limiter: @Sendable () -> Limiter
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let limiter = limiter()
        let selector = try LimitSelector(arguments, of: limiter, names: names)
        let statuses =
            selector.isOfWholeLimits
            ? limiter.exhausted().filter { selector.limit == nil || $0.limit == selector.limit }
            : limiter.statuses(of: selector)
        for status in statuses { try await context.send(status.item) }
    }
}
