/// What the embedded backend saw of one request, for tests and for the backend's own log.
public struct RequestSummary: Sendable, Equatable {
    /// The method as it was sent, such as `POST`.
    public let method: String
    /// Path and query as they were sent, nothing decoded.
    public let target: String
    /// The user that the Basic credential names, before it is judged; nil if there is no readable credential.
    public let user: String?

    /// Describes a request.
    public init(method: String, target: String, user: String?) {
        self.method = method
        self.target = target
        self.user = user
    }
}
