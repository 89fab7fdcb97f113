internal import GatewayCore

extension HubPayloads {
    /// Returns the payload of a secure send: the id alone, where the clients of the tutorial look for it.
    static func securePayload(id: String, for service: PushService) -> [UInt8]? {
        switch service {
        case .apns: Array(#"{"aps":{"content-available":1},"secureId":"\#(id)"}"#.utf8)
        case .fcm: Array(#"{"message":{"data":{"secureId":"\#(id)"}}}"#.utf8)
        case .wns: Array(id.utf8)
        // The hub's REST interface no longer sends to MPNS.
        case .mpns: nil
        }
    }
}
