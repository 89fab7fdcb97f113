internal import Gateway
internal import GatewayCore

extension LimitSelector {
    /// The names of the arguments by which operators pick keys of limits.
    static let arguments: Set<String> = ["limit", "user", "group", "recipient", "address", "pns"]

    /// What the arguments pick.
    init(_ arguments: ControlArguments, of limiter: Limiter, names: NameRules) throws(ControlError) {
        self.init()
        limit = try arguments.text("limit")
        if let limit, !limiter.names.contains(limit) {
            throw .refused("There is no such limit. There are: \(limiter.names.joined(separator: ", ")).")
        }
        user = try arguments.user("user", by: names)
        recipient = try arguments.user("recipient", by: names)
        if let text = try arguments.text("group") {
            guard let group = GroupName(text) else { throw .refused("What group says is not a group's name.") }
            self.group = group
        }
        if let text = try arguments.text("address") {
            guard let address = Peer.Address(operatorText: text) else { throw .refused("That is not an IP address.") }
            self.address = address
        }
        if let text = try arguments.text("pns") {
            guard let platform = Platform(word: text) else { throw .refused("What pns says is no push service.") }
            service = platform.service
        }
    }

    /// Whether whole limits are picked: nothing says for whom.
    var isOfWholeLimits: Bool {
        var rest = self
        rest.limit = nil
        return rest.isEverything
    }

    /// The words for the journal, but for the user, who has a member of the record's own; nil where there are no others.
    var target: String? {
        let words: [(name: String, value: String?)] = [
            ("limit", limit), ("group", group?.text), ("recipient", recipient?.text),
            ("address", address?.operatorText), ("pns", service?.rawValue),
        ]
        let given = words.compactMap { word in word.value.map { "\(word.name) \($0)" } }
        return given.isEmpty ? nil : given.joined(separator: ", ")
    }
}
