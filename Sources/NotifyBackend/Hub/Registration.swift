/// One device registration as the hub holds it.
public struct Registration: Sendable, Equatable {
    /// The id that addresses it. The hub gives ids shaped `digits-digits-digits`, but takes invented ones too.
    public let id: String
    /// The platform word it was registered with: `mpns`, `wns`, `apns`, `gcm`, `fcm` or `fcmv1`.
    public let platform: String
    /// The push handle. APNs handles are kept in upper case, as the hub keeps them.
    public let handle: String
    /// The tags after the comma-joined list was split: what sends are matched against, without case.
    public let tags: [String]
}
