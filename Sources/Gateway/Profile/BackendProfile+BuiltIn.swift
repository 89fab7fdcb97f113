internal import GatewayCore

extension BackendProfile {
    /// The names of the built-in profiles (contract: backend profiles).
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
                idPlaces: name == .core ? [.path, .query] : [.path]),
            backend: BackendSide(
                registerPath: register, notificationsPath: notifications,
                idPlace: name == .core ? .query : .path,
                platformWords: PlatformIdentifiers(name == .net6 ? pns : pns + [.mpns]),
                pnsWords: PlatformIdentifiers(pns),
                // No backend responds with 410, and a missing registration leads to a plain 500.
                goneStatuses: [404, 410, 500],
                // The .NET 6 port responds to a registration with 200 even if the notification hub rejected it.
                confirmsUpdates: name != .net6))
    }
}
