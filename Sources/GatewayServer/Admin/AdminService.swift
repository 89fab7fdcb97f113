internal import GatewayCore
internal import Hummingbird
internal import Logging
internal import ServiceLifecycle

/// The admin listener: health, and what is for operators alone. A listener of its own, so that no header can lead here.
struct AdminService: Service {
    let address: ListenAddress
    let readiness: Readiness
    let metrics: MetricsCollector
    let logger: Logger
    let onListening: @Sendable (Int?) async -> Void

    func run() async throws {
        let bind: BindAddress =
            switch address {
            case .tcp(let host, let port): .hostname(host, port: port)
            case .unix(let path): .unixDomainSocket(path: path)
            }
        let application = Application(
            router: router(),
            configuration: ApplicationConfiguration(address: bind, serverName: nil),
            onServerRunning: { [onListening] channel in await onListening(channel.localAddress?.port) },
            logger: logger)
        try await application.run()
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("/health/live") { _, _ in Self.answer(.ok, status: "live", reason: nil) }
        router.get("/health/ready") { [readiness] _, _ in
            if let obstacle = readiness.obstacle {
                return Self.answer(.serviceUnavailable, status: "not-ready", reason: obstacle)
            }
            return Self.answer(.ok, status: "ready", reason: nil)
        }
        router.get("/metrics") { [metrics] _, _ in
            Response(
                status: .ok, headers: [.contentType: PrometheusText.contentType, .cacheControl: "no-store"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: PrometheusText.write(await metrics.families()))))
        }
        return router
    }

    private static func answer(_ status: HTTPResponse.Status, status word: String, reason: String?) -> Response {
        var members = [JSONValue.Member("status", .string(word))]
        if let reason { members.append(.init("reason", .string(reason))) }
        let body = JSONWriter.bytes(of: .object(members)) + [UInt8(ascii: "\n")]
        return Response(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
