internal import AsyncHTTPClient
internal import GatewaySupport
internal import NIOCore
internal import NIOHTTP1
internal import OutboundHTTP

/// Posts batches as NDJSON to an HTTP endpoint, one request at a time.
///
/// The head of a response with a status of 2xx confirms the batch. Any other response, a redirect included, does not.
/// The client has event loops of its own and keeps one connection.
final class WebhookDestination: SinkDestination {
    private let settings: WebhookSettings
    private let signature: WebhookSignature
    private let authority: AuthorityFile
    private let thread: DeliveryThread
    private let clocks: Clocks
    private let client: HTTPClient

    var maximumRecords: Int { settings.records }

    init(_ settings: WebhookSettings, thread: DeliveryThread, clocks: Clocks) {
        self.settings = settings
        self.thread = thread
        authority = AuthorityFile(settings.authority)
        self.clocks = clocks
        signature = WebhookSignature(settings.secret)
        let timeout = TimeAmount(settings.timeout)
        client = .outbound(
            to: settings.url.text, timeout: .init(connect: min(timeout, .seconds(10)), read: timeout),
            idleTime: .seconds(1), connections: 1)
    }

    func deliver(_ batch: SinkBatch) async throws(DeliveryFailure) {
        let headers: HTTPHeaders = [
            "Content-Type": "application/x-ndjson", "User-Agent": "notify-gateway",
            WebhookSignature.field: try signature.value(for: batch.lines, at: clocks.wall()),
        ]
        let tls = try await thread.run { [authority] () throws(DeliveryFailure) in try authority.clientConfiguration() }
        let response = WebhookResponse()
        var failure: (any Error)?
        do {
            let request = try HTTPClient.Request(
                url: settings.url.text, method: .POST, headers: headers, body: .bytes(batch.lines),
                tlsConfiguration: tls)
            // The deadline covers the whole exchange, including the response's body.
            let exchange = client.execute(
                request: request, delegate: response, deadline: .now() + TimeAmount(settings.timeout))
            try await withTaskCancellationHandler {
                try await exchange.futureResult.get()
            } onCancel: {
                exchange.cancel()
            }
        } catch {
            failure = error
        }
        guard let head = response.head else {
            throw DeliveryFailure(failure.map(NetworkFailure.reason) ?? "the response has no head")
        }
        // The head decides, also if the body is too long, incomplete or too slow.
        if let rejection = WebhookResponse.failure(head, now: clocks.wall()) { throw rejection }
    }

    func close() async { try? await client.shutdown() }
}
