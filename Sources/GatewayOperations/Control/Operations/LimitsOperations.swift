internal import Gateway
internal import GatewayCore
internal import GatewaySupport

/// `limits show`: lists the keys that limits slow down now, the longest wait first. With a selector, lists the status
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
        try await context.send(pageOf: statuses.map(\.item))
    }
}

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
        let users = selector.user.members("user") + selector.recipient.members("recipient")
        try await context.send(.object(users + [.init("reset", .number(String(reset)))]))
    }
}

extension LimitSelector {
    /// The names of the arguments that select keys of limits.
    static let arguments: Set<String> = ["limit", "user", "group", "recipient", "address", "pns"]

    /// Creates a selector from the arguments of a request.
    init(_ arguments: ControlArguments, of limiter: Limiter, names: NameRules) throws(ControlError) {
        self.init()
        limit = try arguments.text("limit")
        if let limit, !limiter.names.contains(limit) {
            throw .refused("There is no such limit. Limits: \(limiter.names.joined(separator: ", ")).")
        }
        user = try arguments.user("user", by: names)
        recipient = try arguments.user("recipient", by: names)
        if let text = try arguments.text("group") {
            guard let group = GroupName(text) else { throw .refused("group is not a valid group name.") }
            self.group = group
        }
        if let text = try arguments.text("address") {
            guard let address = Peer.Address(operatorText: text) else {
                throw .refused("address is not an IP address.")
            }
            self.address = address
        }
        if let text = try arguments.text("pns") {
            guard let platform = Platform(word: text) else { throw .refused("pns is not a push service.") }
            service = platform.service
        }
    }

    /// Whether the selector covers whole limits, without a user, group, recipient, address or service.
    var isOfWholeLimits: Bool {
        var rest = self
        rest.limit = nil
        return rest.isEverything
    }

    /// The text for the journal record without the user, which is a member of its own; nil if it is empty.
    var target: String? {
        let words: [(name: String, value: String?)] = [
            ("limit", limit), ("group", group?.text), ("recipient", recipient?.text),
            ("address", address?.operatorText), ("pns", service?.rawValue),
        ]
        let given = words.compactMap { word in word.value.map { "\(word.name) \($0)" } }
        return given.isEmpty ? nil : given.joined(separator: ", ")
    }
}
