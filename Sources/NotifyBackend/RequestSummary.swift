/// A summary of one request to the embedded backend, for tests and for the backend's log.
public struct RequestSummary: Sendable, Equatable {
    /// The method as sent, such as `POST`.
    public let method: String
    /// The path and query as sent, not decoded.
    public let target: String
    /// The user name in the Basic credential, which is not verified yet; nil if there is no readable credential.
    public let user: String?

    /// Creates a summary.
    public init(method: String, target: String, user: String?) {
        self.method = method
        self.target = target
        self.user = user
    }
}
