/// An authenticator that has workers or connections of its own, and says how busy they are.
public protocol MeasuredAuthenticator: Authenticator {
    /// How many workers, connections or waiting logins there are in each state. Asked when metrics are collected, on any thread;
    /// must not wait.
    var load: [AuthenticatorLoad] { get }
}

/// How many of an authenticator's workers, connections or logins are in one state.
public struct AuthenticatorLoad: Sendable, Hashable {
    /// A word of a closed set of the authenticator's own, such as `busy`, `idle`, `waiting`.
    public let state: String
    /// How many.
    public let count: Int

    /// So many in a state.
    public init(_ state: String, _ count: Int) {
        self.state = state
        self.count = count
    }
}
