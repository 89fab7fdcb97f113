/// The differences between notify-users backends as data: the requests of clients, and the interface of the backend.
///
/// The two sides are separate, so that clients of one generation work with a backend of another. Three profiles are
/// built in; a configuration may modify one of them.
public struct BackendProfile: Sendable, Hashable {
    /// The place of the registration id in `PUT` and `DELETE`.
    public enum IDLocation: String, Sendable, Hashable, CaseIterable {
        /// `/api/register/{id}`
        case path
        /// `/api/register?id={id}`
        case query
    }

    /// The client side.
    public var client: ClientSide
    /// The backend side.
    public var backend: BackendSide

    /// Creates a profile.
    public init(client: ClientSide, backend: BackendSide) {
        self.client = client
        self.backend = backend
    }
}
