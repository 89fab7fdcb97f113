public import GatewayCore

/// What differs between notify-users backends, as data: what clients send, and what the backend behind takes.
///
/// The two sides are apart, so that clients of one generation go on working in front of a backend of another.
public struct BackendProfile: Sendable, Hashable {
    /// Where a registration's id stands in `PUT` and `DELETE`.
    public enum IDPlace: String, Sendable, Hashable, CaseIterable {
        /// `/api/register/{id}`
        case path
        /// `/api/register?id={id}`
        case query
    }

    /// What clients send to the gateway.
    public struct ClientSide: Sendable, Hashable {
        /// The path of registrations, such as `/api/register`.
        public var registerPath: String
        /// The path of sends, such as `/api/notifications`.
        public var notificationsPath: String
        /// Where clients may put a registration's id; exactly one id is taken.
        public var idPlaces: Set<IDPlace>

        /// A client side from its parts.
        public init(registerPath: String, notificationsPath: String, idPlaces: Set<IDPlace>) {
            self.registerPath = registerPath
            self.notificationsPath = notificationsPath
            self.idPlaces = idPlaces
        }
    }

    /// What the backend takes of the gateway.
    public struct BackendSide: Sendable, Hashable {
        /// The path of registrations.
        public var registerPath: String
        /// The path of sends.
        public var notificationsPath: String
        /// Where the backend looks for a registration's id.
        public var idPlace: IDPlace
        /// The backend's word for each service in a registration's `Platform`; services without one are not taken.
        public var platformWords: [PushService: Platform]
        /// The backend's word for each service in `pns`; services without one cannot be sent to.
        public var pnsWords: [PushService: Platform]
        /// Statuses of a `PUT` that mean that the backend has lost the registration.
        public var goneStatuses: Set<Int>

        /// A backend side from its parts.
        public init(
            registerPath: String, notificationsPath: String, idPlace: IDPlace,
            platformWords: [PushService: Platform], pnsWords: [PushService: Platform], goneStatuses: Set<Int>
        ) {
            self.registerPath = registerPath
            self.notificationsPath = notificationsPath
            self.idPlace = idPlace
            self.platformWords = platformWords
            self.pnsWords = pnsWords
            self.goneStatuses = goneStatuses
        }
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
