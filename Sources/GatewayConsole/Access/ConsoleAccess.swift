package import Gateway
internal import GatewayCore
internal import GatewaySupport

/// The role of a user in the console. Each role includes those before it.
enum ConsoleRole: Int, Sendable, Hashable, Comparable {
    /// May see and change what is their own, if the console offers that.
    case user
    /// May read.
    case viewer
    /// May read and make changes.
    case `operator`

    static func < (left: ConsoleRole, right: ConsoleRole) -> Bool { left.rawValue < right.rawValue }
}

/// The users with access to the console.
package struct ConsoleAccess: Sendable, Hashable {
    let viewers: [RuleSubject]
    let operators: [RuleSubject]
    /// Whether every user may see and end what is their own.
    let isForEveryUser: Bool

    /// Creates the access of a configuration.
    package init(viewers: [RuleSubject], operators: [RuleSubject], isForEveryUser: Bool) {
        self.viewers = viewers
        self.operators = operators
        self.isForEveryUser = isForEveryUser
    }

    /// Returns the role of a user; nil for a user without access.
    func role(of user: Identity) -> ConsoleRole? {
        if operators.contains(where: { $0.covers(user) }) { return .operator }
        if viewers.contains(where: { $0.covers(user) }) { return .viewer }
        return isForEveryUser ? .user : nil
    }
}
