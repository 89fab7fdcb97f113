/// One device registration as the hub holds it.
public struct Registration: Sendable, Equatable {
    /// The id. The hub issues ids of the form `digits-digits-digits`, but accepts others too.
    public let id: String
    /// The platform word of the registration: `mpns`, `wns`, `apns`, `gcm`, `fcm` or `fcmv1`.
    public let platform: String
    /// The push handle. APNs handles are stored in upper case, as in the real hub.
    public let handle: String
    /// The tags after the comma-separated list was split. Sends match them ignoring case.
    public let tags: [String]
}
