public import GatewayCore

extension BackendProfile {
    /// How a backend writes a registration's id into its answer.
    public enum IDForm: String, Sendable, Hashable, CaseIterable {
        /// In whichever of these forms it comes.
        case any
        /// As a JSON string.
        case json
        /// As it is.
        case text
        /// In an XML element `string`.
        case xml
    }

    /// What the backend takes of the gateway, and how it answers.
    public struct BackendSide: Sendable, Hashable {
        /// The path of registrations.
        public var registerPath: String
        /// The path of sends.
        public var notificationsPath: String
        /// Where the backend looks for a registration's id.
        public var idPlace: IDPlace
        /// How it writes one into its answer.
        public var idForm: IDForm
        /// The backend's word for each service in a registration's `Platform`; services without one are not taken.
        public var platformWords: ServiceWords
        /// The backend's word for each service in `pns`; services without one cannot be sent to.
        public var pnsWords: ServiceWords
        /// How many bytes a payload has beside user and message, where the word for the service does not tell.
        public var payloadFrames: [PushService: Int]
        /// Statuses that mean that a call was carried out.
        public var successStatuses: Set<Int>
        /// Statuses of a `PUT` that mean that the backend has lost the registration, and of a `DELETE` that it may have. There 404
        /// and 410 always mean that nothing is left to delete.
        public var goneStatuses: Set<Int>
        /// Whether a `PUT` that is answered with success proves that the push service has the registration. Where it does not,
        /// overwriting a registration does not stand in for deleting it.
        public var confirmsUpdates: Bool
        /// How long a connection may lie unused before it is closed.
        public var idleTime: Duration

        /// A backend side from its parts.
        public init(
            registerPath: String, notificationsPath: String, idPlace: IDPlace, idForm: IDForm = .any,
            platformWords: ServiceWords, pnsWords: ServiceWords, payloadFrames: [PushService: Int] = [:],
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

        /// How many bytes the backend's payload for each service has beside user and message.
        func allPayloadFrames() -> [Int] { PushService.allCases.map { payloadFrame(of: $0) } }

        /// A word that nobody has described is taken for the one with the longest frame.
        private func payloadFrame(of service: PushService) -> Int {
            if let stated = payloadFrames[service] { return stated }
            if let known = pnsWords[service].flatMap({ Platform(word: $0.text) }) { return known.payloadFrame }
            return Platform.allCases.filter { $0.service == service }.map(\.payloadFrame).max() ?? 0
        }
    }
}

extension Platform {
    /// How many bytes the payload has beside user and message that the known backends build for the word (contract: payloads).
    fileprivate var payloadFrame: Int {
        switch self {
        case .apns: 27
        case .gcm, .fcm: 33
        case .fcmv1: 45
        case .wns, .mpns: 101
        }
    }
}
