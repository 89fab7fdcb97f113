/// An authenticator with workers or connections of its own that reports their load.
public protocol MeasuredAuthenticator: Authenticator {
    /// The number of workers, connections or waiting logins in each state. Read when metrics are collected, on any
    /// thread; must not block.
    var load: [AuthenticatorLoad] { get }
}

/// The number of an authenticator's workers, connections or logins in one state.
public struct AuthenticatorLoad: Sendable, Hashable {
    /// The state: a word of a closed set that the authenticator defines, such as `busy`, `idle`, `waiting`.
    public let state: String
    /// The number in that state.
    public let count: Int

    /// Creates a load value.
    public init(_ state: String, _ count: Int) {
        self.state = state
        self.count = count
    }
}
