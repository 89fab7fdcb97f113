internal import AsyncHTTPClient
internal import GatewaySupport
internal import NIOCore
internal import NIOHTTP1
internal import OutboundHTTP
internal import Synchronization

/// The collector: posts one request with spans at a time.
///
/// The client uses event loops that serve no calls, and keeps one connection.
final class TraceCollector: Sendable {
    /// The time for one request, from the connection to the end of the response.
    static let timeout = TimeAmount.seconds(10)
    private static let connectTimeout = TimeAmount.seconds(5)
    /// The time for which an idle connection is kept. Longer than the interval of exports.
    private static let idleTime = TimeAmount.seconds(15)

    private let settings: TraceExportSettings
    private let authority: AuthorityFile
    private let thread: DeliveryThread
    private let clocks: Clocks
    private let headers: HTTPHeaders
    private let client: HTTPClient

    /// Creates a collector. Opens no connection.
    init(_ settings: TraceExportSettings, clocks: Clocks) {
        self.settings = settings
        self.clocks = clocks
        authority = AuthorityFile(settings.authority)
        thread = DeliveryThread()
        var headers: HTTPHeaders = ["Content-Type": "application/json", "User-Agent": "notify-gateway"]
        for header in settings.headers {
            headers.add(name: header.name, value: header.value.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        }
        self.headers = headers
        client = .outbound(
            to: settings.endpoint.text, timeout: .init(connect: Self.connectTimeout, read: Self.timeout),
            idleTime: Self.idleTime, connections: 1)
    }

    /// Posts a body with a number of spans. If the task is cancelled, the request is aborted.
    func post(_ body: [UInt8], spans: Int) async -> OTLPResponse {
        let response = CollectorResponse()
        var failure: (any Error)?
        do {
            let tls = try await thread.run { [authority] () throws(DeliveryFailure) in
                try authority.clientConfiguration()
            }
            let request = try HTTPClient.Request(
                url: settings.endpoint.text, method: .POST, headers: headers, body: .bytes(body),
                tlsConfiguration: tls)
            // The deadline covers the whole exchange, including the response's body.
            let exchange = client.execute(request: request, delegate: response, deadline: .now() + Self.timeout)
            try await withTaskCancellationHandler {
                try await exchange.futureResult.get()
            } onCancel: {
                exchange.cancel()
            }
        } catch {
            failure = error
        }
        let received = response.received
        guard let head = received.head else {
            let reason = (failure as? DeliveryFailure)?.reason ?? failure.map(NetworkFailure.reason)
            return .retryable(reason: reason ?? "the response has no head", after: nil)
        }
        let requested = head.headers.first(name: "Retry-After").flatMap { RetryAfter.wait($0, now: clocks.wall()) }
        return OTLPResponse(
            status: Int(head.status.code), retryAfter: requested, body: failure == nil ? received.body : nil,
            sent: spans)
    }

    /// Closes the connection.
    func close() async {
        thread.stop()
        try? await client.shutdown()
    }
}

/// Receives the response to one request, with the beginning of its body.
private final class CollectorResponse: HTTPClientResponseDelegate, Sendable {
    /// The error that a body exceeds the limit.
    private struct BodyTooLong: Error {}

    struct Received {
        var head: HTTPResponseHead?
        var body: [UInt8] = []
    }

    /// The maximum number of bytes of a body.
    private static let maximumBodyBytes = 64 << 10

    private let state = Mutex(Received())

    /// What has arrived.
    var received: Received { state.withLock(\.self) }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        state.withLock { $0.head = head }
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ part: ByteBuffer) -> EventLoopFuture<Void> {
        let fits = state.withLock { received in
            guard received.body.count + part.readableBytes <= Self.maximumBodyBytes else { return false }
            received.body += part.readableBytesView
            return true
        }
        return fits
            ? task.eventLoop.makeSucceededVoidFuture() : task.eventLoop.makeFailedFuture(BodyTooLong())
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) throws {}
}
