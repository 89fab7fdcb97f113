internal import GatewayCore

extension Policy.SendRule {
    /// The rule in one line, for comparison with other rules: `group:dispatch to * within seattle`.
    public var text: String { "\(from.text) to \(to.text)\(within.map { " within \($0.text)" } ?? "")" }
}

extension Policy.Subject {
    /// The subject as the configuration writes it.
    public var text: String {
        switch self {
        case .anyUser: "*"
        case .user(let user): user.text
        case .group(let group): "group:\(group.text)"
        }
    }
}

extension Policy.Recipient {
    /// The recipients as the configuration writes them.
    public var text: String {
        switch self {
        case .anyUser: "*"
        case .sender: "self"
        case .user(let user): user.text
        case .audience(let audience): "audience:\(audience.text)"
        }
    }
}
