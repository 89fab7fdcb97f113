public import GatewayCore

extension BackendProfile {
    /// What clients send to the gateway, and what they take for success.
    public struct ClientSide: Sendable, Hashable {
        /// The path of registrations, such as `/api/register`.
        public var registerPath: String
        /// The path of sends, such as `/api/notifications`.
        public var notificationsPath: String
        /// Where clients may put a registration's id; exactly one id is taken.
        public var idPlaces: Set<IDPlace>
        /// The status of a registration that worked, by the service of the device; 200 where there is none.
        public var updateStatuses: [PushService: Int]

        /// A client side from its parts. Windows clients of some builds take nothing but 202 for success, and all others
        /// nothing but 200 (contract: client rule 2).
        public init(
            registerPath: String, notificationsPath: String, idPlaces: Set<IDPlace>,
            updateStatuses: [PushService: Int] = [.wns: 202, .mpns: 202]
        ) {
            self.registerPath = registerPath
            self.notificationsPath = notificationsPath
            self.idPlaces = idPlaces
            self.updateStatuses = updateStatuses
        }

        /// What a device of the service is answered when it is registered.
        func updateStatus(of service: PushService) -> Int { updateStatuses[service] ?? 200 }
    }
}
