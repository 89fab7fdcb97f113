internal import Gateway
internal import GatewayCore

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
