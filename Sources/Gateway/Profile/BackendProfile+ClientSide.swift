public import GatewayCore

extension BackendProfile {
    /// The requests that clients send, and the responses that they expect.
    public struct ClientSide: Sendable, Hashable {
        /// The path of registrations, such as `/api/register`.
        public var registerPath: String
        /// The path of sends, such as `/api/notifications`.
        public var notificationsPath: String
        /// The places where clients may put the registration id. A request has it in exactly one place.
        public var idPlaces: Set<IDLocation>
        /// The status of a successful registration by push service; 200 for a service without an entry.
        public var updateStatuses: [PushService: Int]

        /// Creates the client side of a profile. Some Windows clients accept only 202 as success, and all other clients
        /// accept only 200 (contract: client rule 2).
        public init(
            registerPath: String, notificationsPath: String, idPlaces: Set<IDLocation>,
            updateStatuses: [PushService: Int] = [.wns: 202, .mpns: 202]
        ) {
            self.registerPath = registerPath
            self.notificationsPath = notificationsPath
            self.idPlaces = idPlaces
            self.updateStatuses = updateStatuses
        }

        /// Returns the status of a successful registration of the service.
        func updateStatus(of service: PushService) -> Int { updateStatuses[service] ?? 200 }
    }
}
