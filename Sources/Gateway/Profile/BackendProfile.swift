/// What differs between notify-users backends, as data: what clients send, and what the backend behind takes.
///
/// The two sides are apart, so that clients of one generation go on working in front of a backend of another. Three are built
/// in; a configuration can start from one of them and change what its backend does otherwise.
public struct BackendProfile: Sendable, Hashable {
    /// Where a registration's id stands in `PUT` and `DELETE`.
    public enum IDPlace: String, Sendable, Hashable, CaseIterable {
        /// `/api/register/{id}`
        case path
        /// `/api/register?id={id}`
        case query
    }

    /// What clients send.
    public var client: ClientSide
    /// What the backend takes.
    public var backend: BackendSide

    /// A profile from its two sides.
    public init(client: ClientSide, backend: BackendSide) {
        self.client = client
        self.backend = backend
    }
}
