/// The name of an upstream, a notify-users backend or a notification hub: its address, as the configuration states it.
///
/// The ledger stores it with each registration, and metrics have it as a label.
public struct UpstreamName: Sendable, Hashable, CustomStringConvertible {
    /// The name.
    public let text: String

    /// Creates a name.
    public init(_ text: String) { self.text = text }

    /// The name.
    public var description: String { text }
}

/// The place of a registration: the push service of its handle, and the upstream at which it was made.
public struct RegistrationPlace: Sendable, Hashable {
    /// The push service; nil if it is unknown.
    public var service: PushService?
    /// The upstream; nil if it is unknown, as for a registration from before the gateway.
    public var upstream: UpstreamName?

    /// Creates a place.
    public init(service: PushService?, upstream: UpstreamName?) {
        self.service = service
        self.upstream = upstream
    }

    /// Returns whether the registration was made at a known upstream other than this one, which need not have it.
    public func isElsewhere(than current: UpstreamName?) -> Bool {
        guard let upstream, let current else { return false }
        return upstream != current
    }
}
