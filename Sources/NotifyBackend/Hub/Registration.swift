/// One device registration in the hub.
public struct Registration: Sendable, Equatable {
    /// The id. The hub assigns ids of the form `digits-digits-digits`, but accepts others too.
    public let id: String
    /// The platform name of the registration: `mpns`, `wns`, `apns`, `gcm`, `fcm` or `fcmv1`.
    public let platform: String
    /// The push handle. APNs handles are in upper case, as the hub stores them.
    public let handle: String
    /// The tags after the comma-separated list was split. Sends match them without case.
    public let tags: [String]
}
