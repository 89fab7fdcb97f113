public import GatewayCore

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

extension BackendProfile {
    /// The requests that clients send, and the responses that they expect.
    public struct ClientSide: Sendable, Hashable {
        /// The path of registrations, such as `/api/register`.
        public var registerPath: String
        /// The path of sends, such as `/api/notifications`.
        public var notificationsPath: String
        /// The places where clients may put the registration id. A request contains the id in exactly one of them.
        public var idLocations: Set<IDLocation>
        /// The status of the response to a successful `PUT`, by push service; 200 for a service without an entry.
        public var updateStatuses: [PushService: Int]

        /// Creates the client side of a profile. Some Windows clients accept only 202 as success, and all other clients
        /// accept only 200 (docs/contract.md: client rule 2).
        public init(
            registerPath: String, notificationsPath: String, idLocations: Set<IDLocation>,
            updateStatuses: [PushService: Int] = [.wns: 202, .mpns: 202]
        ) {
            self.registerPath = registerPath
            self.notificationsPath = notificationsPath
            self.idLocations = idLocations
            self.updateStatuses = updateStatuses
        }

        /// Returns the status of the response to a successful `PUT` for the service.
        func updateStatus(of service: PushService) -> Int { updateStatuses[service] ?? 200 }
    }
}

extension BackendProfile {
    /// The format of a registration id in a backend's response.
    public enum IDFormat: String, Sendable, Hashable, CaseIterable {
        /// Any of the formats below.
        case any
        /// A JSON string.
        case json
        /// Plain text.
        case text
        /// An XML element `string`.
        case xml
    }

    /// The requests that the backend accepts, and the meaning of its responses.
    public struct BackendSide: Sendable, Hashable {
        /// The path of registrations.
        public var registerPath: String
        /// The path of sends.
        public var notificationsPath: String
        /// The place of the registration id in a request.
        public var idLocation: IDLocation
        /// The format of the registration id in a response.
        public var idFormat: IDFormat
        /// The backend's name for each push service in the `Platform` field of a registration. Services without a name
        /// are not supported.
        public var platformNames: PlatformIdentifiers
        /// The backend's name for each push service in the `pns` parameter of a send. Services without a name cannot be
        /// sent to.
        public var pnsNames: PlatformIdentifiers
        /// The size of a payload without user and message, in bytes. Overrides the size that is otherwise derived from
        /// the service's name in `pnsNames`.
        public var payloadFrames: [PushService: Int]
        /// The statuses of success.
        public var successStatuses: Set<Int>
        /// For a `PUT`: the statuses that mean that the registration no longer exists. For a `DELETE`: the statuses
        /// that may mean that it no longer exists; 404 and 410 always do.
        public var goneStatuses: Set<Int>
        /// Whether a successful `PUT` proves that the notification hub has stored the registration. If not, overwriting
        /// a registration does not substitute for deleting it.
        public var confirmsUpdates: Bool
        /// The time after which an idle connection is closed.
        public var idleTime: Duration
        /// Whether the backend delivers a send at a later time, and cancels it before.
        public var schedulesSends = false

        /// Creates the backend side of a profile.
        public init(
            registerPath: String, notificationsPath: String, idLocation: IDLocation, idFormat: IDFormat = .any,
            platformNames: PlatformIdentifiers, pnsNames: PlatformIdentifiers, payloadFrames: [PushService: Int] = [:],
            successStatuses: Set<Int> = Set(200..<300), goneStatuses: Set<Int>, confirmsUpdates: Bool = true,
            idleTime: Duration = .seconds(30)
        ) {
            self.registerPath = registerPath
            self.notificationsPath = notificationsPath
            self.idLocation = idLocation
            self.idFormat = idFormat
            self.platformNames = platformNames
            self.pnsNames = pnsNames
            self.payloadFrames = payloadFrames
            self.successStatuses = successStatuses
            self.goneStatuses = goneStatuses
            self.confirmsUpdates = confirmsUpdates
            self.idleTime = idleTime
        }

        /// Returns the size of the backend's payload without user and message, for each service.
        func allPayloadFrames() -> [Int] { PushService.allCases.map { payloadFrame(of: $0) } }

        /// Returns the size for one service. For an unknown name it is the largest one of the service.
        private func payloadFrame(of service: PushService) -> Int {
            if let stated = payloadFrames[service] { return stated }
            if let known = pnsNames[service].flatMap({ Platform(word: $0.text) }) { return known.payloadFrame }
            return Platform.allCases.filter { $0.service == service }.map(\.payloadFrame).max() ?? 0
        }
    }
}

extension BackendProfile.BackendSide {
    /// The push services that a notification hub supports. Everything else of its protocol is fixed; see `HubCodec`.
    public static let hub: BackendProfile.BackendSide = {
        var side = BackendProfile.BackendSide(
            registerPath: "", notificationsPath: "", idLocation: .path,
            platformNames: PlatformIdentifiers([.apns, .wns, .mpns, .fcmv1]),
            pnsNames: PlatformIdentifiers([.apns, .wns, .fcmv1]), goneStatuses: [])
        side.schedulesSends = true
        return side
    }()
}

extension Platform {
    /// The size of the payload without user and message, as the known backends build it for this name
    /// (docs/contract.md: payloads).
    fileprivate var payloadFrame: Int {
        switch self {
        case .apns: 27
        case .gcm, .fcm: 33
        case .fcmv1: 45
        case .wns, .mpns: 101
        }
    }
}

extension BackendProfile {
    /// The names of the built-in profiles (docs/contract.md: backend profiles).
    public enum BuiltIn: String, Sendable, CaseIterable {
        /// ASP.NET Web API 2: the original backend of the tutorial "Notify users with Azure Notification Hubs".
        case classic
        /// ASP.NET Core: Microsoft's sample.
        case core
        /// .NET 6: a common port.
        case net6
    }

    /// Creates a built-in profile.
    public init(_ name: BuiltIn) {
        let register = "/api/register"
        let notifications = "/api/notifications"
        let fcm: Platform =
            switch name {
            case .classic: .gcm
            case .core: .fcm
            case .net6: .fcmv1
            }
        let pns: [Platform] = [.apns, .wns, fcm]
        self.init(
            client: ClientSide(
                registerPath: register, notificationsPath: notifications,
                idLocations: name == .core ? [.path, .query] : [.path]),
            backend: BackendSide(
                registerPath: register, notificationsPath: notifications,
                idLocation: name == .core ? .query : .path,
                platformNames: PlatformIdentifiers(name == .net6 ? pns : pns + [.mpns]),
                pnsNames: PlatformIdentifiers(pns),
                // No backend responds with 410, and a missing registration leads to a plain 500.
                goneStatuses: [404, 410, 500],
                // The .NET 6 port responds to a registration with 200 even if the notification hub rejected it.
                confirmsUpdates: name != .net6))
    }
}
