public import GatewayCore

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
        public var idPlace: IDLocation
        /// The format of the registration id in a response.
        public var idForm: IDFormat
        /// The backend's name for each push service in `Platform`. Services without a name are not supported.
        public var platformWords: PlatformIdentifiers
        /// The backend's name for each push service in `pns`. Services without a name cannot be sent to.
        public var pnsWords: PlatformIdentifiers
        /// The size of a payload without user and message, in bytes, for services whose platform name does not
        /// determine it.
        public var payloadFrames: [PushService: Int]
        /// The statuses of success.
        public var successStatuses: Set<Int>
        /// For a `PUT`: the statuses that mean that the registration no longer exists. For a `DELETE`: the statuses
        /// that may mean that it no longer exists; 404 and 410 always do.
        public var goneStatuses: Set<Int>
        /// Whether a successful `PUT` proves that the push service has the registration. If not, overwriting a
        /// registration does not substitute for deleting it.
        public var confirmsUpdates: Bool
        /// The time after which an idle connection is closed.
        public var idleTime: Duration

        /// Creates the backend side of a profile.
        public init(
            registerPath: String, notificationsPath: String, idPlace: IDLocation, idForm: IDFormat = .any,
            platformWords: PlatformIdentifiers, pnsWords: PlatformIdentifiers, payloadFrames: [PushService: Int] = [:],
            successStatuses: Set<Int> = Set(200..<300), goneStatuses: Set<Int>, confirmsUpdates: Bool = true,
            idleTime: Duration = .seconds(30)
        ) {
            self.registerPath = registerPath
            self.notificationsPath = notificationsPath
            self.idPlace = idPlace
            self.idForm = idForm
            self.platformWords = platformWords
            self.pnsWords = pnsWords
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
            if let known = pnsWords[service].flatMap({ Platform(word: $0.text) }) { return known.payloadFrame }
            return Platform.allCases.filter { $0.service == service }.map(\.payloadFrame).max() ?? 0
        }
    }
}

extension Platform {
    /// The size of the payload without user and message, as the known backends build it for this name (contract:
    /// payloads).
    fileprivate var payloadFrame: Int {
        switch self {
        case .apns: 27
        case .gcm, .fcm: 33
        case .fcmv1: 45
        case .wns, .mpns: 101
        }
    }
}
