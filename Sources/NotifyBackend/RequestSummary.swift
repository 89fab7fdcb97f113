/// A request as the embedded backend received it, for tests and for the backend's log.
public struct RequestSummary: Sendable, Equatable {
    /// The method as it was sent, such as `POST`.
    public let method: String
    /// The path and the query as sent, without decoding.
    public let target: String
    /// The user of the Basic credential, before verification; nil without a readable credential.
    public let user: String?

    /// Creates a summary of a request.
    public init(method: String, target: String, user: String?) {
        self.method = method
        self.target = target
        self.user = user
    }
}
