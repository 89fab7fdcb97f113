internal import GatewayCore

extension BackendProfile {
    /// The names of the profiles that are built in (contract: backend profiles).
    public enum BuiltIn: String, Sendable, CaseIterable {
        /// ASP.NET Web API 2: the tutorial's first backend.
        case classic
        /// Microsoft's ASP.NET Core sample.
        case core
        /// A common port to .NET 6.
        case net6
    }

    /// A profile that is built in.
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
                platformWords: ServiceWords(name == .net6 ? pns : pns + [.mpns]), pnsWords: ServiceWords(pns),
                // No backend answers 410, and a lost registration is a plain 500.
                goneStatuses: [404, 410, 500],
                // It answers 200 to a registration whether or not the hub took it.
                confirmsUpdates: name != .net6))
    }
}
