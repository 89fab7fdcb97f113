internal import Gateway
internal import GatewayCore

/// `limits show`: who is slowed down at present, the longest first; or how the limits stand for whoever is named, slowed down or
/// not.
struct ShowLimitsOperation: ControlOperation {
    static let name = "limits show"
    static let arguments = LimitPick.arguments

    /// The limiter of the configuration in force.
    let limiter: @Sendable () -> Limiter
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlFault) {
        let limiter = limiter()
        let pick = try LimitPick(arguments, of: limiter, names: names)
        let standings =
            pick.isOfWholeLimits
            ? limiter.spent().filter { pick.limit == nil || $0.limit == pick.limit } : limiter.standings(of: pick)
        for standing in standings { try await context.send(standing.item) }
    }
}
