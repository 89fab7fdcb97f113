import Hummingbird
import HummingbirdCore
public import Logging
import NIOCore
public import ServiceLifecycle

/// The embedded notify-users backend as a service: the four calls of one flavour, and inspection of the notifications
/// that devices received.
///
/// It checks as little as the tutorials' backends and therefore listens only on a loopback address or a Unix socket.
/// One value must not run twice at the same time.
public struct EmbeddedBackend: Service {
    let hub: NotificationHub
    private let interface: BackendInterface
    private let place: Address
    private let logger: Logger
    private let onListening: @Sendable (Int) async -> Void
    private let onRequest: (@Sendable (RequestSummary) -> Void)?

    private enum Address {
        case address(host: String, port: Int)
        case socket(path: String)
    }

    /// The maximum number of connections. Further ones wait to be accepted.
    static let maximumConnections = 1024

    /// Creates a backend on a TCP port.
    ///
    /// - Parameters:
    ///   - flavor: The generation to imitate.
    ///   - hub: The hub for registrations and sends. Backends may share one.
    ///   - host: A loopback address, `127.0.0.1` or `::1`; `localhost` is `127.0.0.1`. ``run()`` throws for any other.
    ///   - port: The port; 0 for any free one.
    ///   - logger: The logger for starts, stops and requests (at debug level).
    ///   - onListening: Called once with the actual port when connections are accepted.
    ///   - onRequest: Called for each request except inspections, before it is processed, on the thread that serves it.
    public init(
        flavor: BackendFlavor,
        hub: NotificationHub = NotificationHub(),
        host: String = "127.0.0.1",
        port: Int = 0,
        logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in },
        onRequest: (@Sendable (RequestSummary) -> Void)? = nil
    ) {
        interface = .notifyUsers(NotifyUsersAPI(flavor: flavor, hub: hub))
        self.hub = hub
        place = .address(host: host == "localhost" ? "127.0.0.1" : host, port: port)
        self.logger = logger
        self.onListening = onListening
        self.onRequest = onRequest
    }

    /// Creates a backend on a Unix socket. An existing socket file at `path` is replaced.
    ///
    /// The other parameters are those of the TCP backend. `onListening` is called with 0. The commands serve on TCP;
    /// this form is for tests, which need no free port with it.
    public init(
        flavor: BackendFlavor,
        hub: NotificationHub = NotificationHub(),
        socketPath path: String,
        logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in },
        onRequest: (@Sendable (RequestSummary) -> Void)? = nil
    ) {
        interface = .notifyUsers(NotifyUsersAPI(flavor: flavor, hub: hub))
        self.hub = hub
        place = .socket(path: path)
        self.logger = logger
        self.onListening = onListening
        self.onRequest = onRequest
    }

    /// Creates the REST interface of a hub on a TCP port of 127.0.0.1, without a notify-users backend.
    ///
    /// The other parameters are those of the first initializer.
    ///
    /// - Parameter access: The name of the hub, and the keys that may be used.
    public init(
        access: HubAccess,
        hub: NotificationHub = NotificationHub(),
        port: Int = 0,
        logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void = { _ in },
        onRequest: (@Sendable (RequestSummary) -> Void)? = nil
    ) {
        interface = .hub(HubAPI(access: access, hub: hub))
        self.hub = hub
        place = .address(host: "127.0.0.1", port: port)
        self.logger = logger
        self.onListening = onListening
        self.onRequest = onRequest
    }

    /// Serves until graceful shutdown or cancellation. Calls in progress complete, and live inboxes are closed.
    ///
    /// Throws ``EmbeddedBackendError`` for an address that is not loopback, or the error of binding.
    public func run() async throws {
        let application = Application(
            responder: BackendResponder(
                interface: interface,
                inspection: InspectionEndpoints(hub: hub),
                onRequest: onRequest
            ),
            server: .http1(
                configuration: .init(
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: 32 << 10, maxHeaderListSize: 64 << 10, maxHeaderFieldCount: 256)
                )
            ),
            configuration: ApplicationConfiguration(
                address: try bindAddress(),
                availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnections)
            ),
            services: [InboxHeartbeat(hub: hub), ScheduledDelivery(hub: hub)],
            onServerRunning: { [onListening] channel in await onListening(channel.localAddress?.port ?? 0) },
            logger: logger
        )
        try await application.run()
    }

    private func bindAddress() throws(EmbeddedBackendError) -> BindAddress {
        switch place {
        case .socket(let path): return .unixDomainSocket(path: path)
        case .address(let host, let port):
            guard (0...65535).contains(port), let address = try? SocketAddress(ipAddress: host, port: port),
                address.isLoopback
            else { throw .notLoopback(host: host, port: port) }
            return .hostname(host, port: port)
        }
    }
}

/// The reason why the embedded backend does not start.
public enum EmbeddedBackendError: Error, Equatable, CustomStringConvertible {
    /// The address is not a loopback address, or the port is invalid. The backend checks no owner of anything, so other
    /// machines must not reach it.
    case notLoopback(host: String, port: Int)

    /// A sentence for the operator.
    public var description: String {
        switch self {
        case .notLoopback(let host, let port):
            "the embedded backend serves loopback only, such as 127.0.0.1 with a port up to 65535; not \(host):\(port)"
        }
    }
}

extension SocketAddress {
    /// Whether the address is 127.0.0.0/8 or ::1.
    var isLoopback: Bool {
        switch self {
        case .v4: ipAddress?.hasPrefix("127.") == true
        case .v6: ipAddress == "::1"
        case .unixDomainSocket: false
        }
    }
}
