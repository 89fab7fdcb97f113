internal import GatewayConfiguration
internal import GatewayCore
internal import GatewaySupport
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import ServiceLifecycle

/// The admin listener: health and metrics for operators. It is a separate listener, so no request header can reach it
/// from the public one.
struct AdminService: Service {
    let address: ListenAddress
    let readiness: Readiness
    let metrics: MetricsCollector
    let logger: Logger
    let onListening: @Sendable (Int?) async -> Void

    /// The same limits as on the public listener; the decoder's defaults are 80 KiB and 1,000 fields. The path counts
    /// as a field. A larger head gets the response 400 and closes the connection.
    private static let heads = HTTP1Channel.Configuration.DecoderConfiguration(
        maxHeaderFieldSize: 8 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 100)
    /// The time after which a connection without a request, or with an incomplete one, is closed.
    private static let idleTime = TimeAmount.seconds(60)
    /// The number of open connections from which no further one is accepted until one closes. Without it, clients of
    /// this listener could use up the file descriptors that calls and the journal need. The listener accepts up to 16
    /// connections at a time and may exceed the number by as many.
    private static let maximumConnections = 64

    func run() async throws {
        let bind: BindAddress =
            switch address {
            case .tcp(let host, let port): .hostname(host, port: port)
            case .unix(let path): .unixDomainSocket(path: path)
            }
        let application = Application(
            router: router(),
            server: .http1(configuration: .init(idleTimeout: Self.idleTime, httpDecoderConfiguration: Self.heads)),
            configuration: ApplicationConfiguration(
                address: bind, serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnections)),
            onServerRunning: { [onListening] channel in await onListening(channel.localAddress?.port) },
            logger: logger)
        do {
            try await application.run()
        } catch let error as IOError {
            throw ListenAddressError(error, at: address)
        }
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router()
        // A group's middleware sees only requests that have a route, so a client cannot add series by other methods.
        let routes = router.group().add(middleware: MetricsMiddleware())
        routes.get("/health/live") { _, _ in Self.answer(.ok, status: "live", reason: nil) }
        routes.get("/health/ready") { [readiness] _, _ in
            if let obstacle = await readiness.obstacle() {
                return Self.answer(.serviceUnavailable, status: "not-ready", reason: obstacle)
            }
            return Self.answer(.ok, status: "ready", reason: nil, warning: readiness.warning)
        }
        routes.get("/metrics") { [metrics] _, _ in
            Response(
                status: .ok, headers: [.contentType: PrometheusText.contentType, .cacheControl: "no-store"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: PrometheusText.write(await metrics.families()))))
        }
        return router
    }

    private static func answer(
        _ status: HTTPResponse.Status, status word: String, reason: String?, warning: String? = nil
    ) -> Response {
        var members = [JSONValue.Member("status", .string(word))]
        if let reason { members.append(.init("reason", .string(reason))) }
        if let warning { members.append(.init("warning", .string(warning))) }
        let body = JSONWriter.bytes(of: .object(members)) + [UInt8(ascii: "\n")]
        return Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
