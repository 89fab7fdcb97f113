internal import AsyncHTTPClient
internal import GatewayCore
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import OutboundHTTP
internal import OutboundTLS
internal import Synchronization

/// The HTTP client of one purpose, with limits of its own, so that queries of another purpose never delay its queries.
///
/// The client has event loops of its own. A query waits without a thread and resumes on its own executor.
final class ServiceClient: Sendable {
    /// The reason why a query has no result.
    enum Failure: Error, Equatable {
        /// Too many queries are waiting. The service was not contacted.
        case busy
        /// The request was not sent, with the reason for the log.
        case unreachable(String)
        /// The response was not complete in time.
        case timedOut
        /// The query failed, with the reason for the log.
        case failed(String)
    }

    private let delegation: DelegationSettings
    private let client: HTTPClient
    private let isOnUnixSocket: Bool
    private let inProgress = Atomic(0)

    /// Creates the client of the service at the URL. Opens no connection.
    init(_ delegation: DelegationSettings, url: String, tls: TLSConfiguration = .outbound(trusting: nil)) {
        self.delegation = delegation
        isOnUnixSocket = url.prefix(10).lowercased() == "http+unix:"
        let timeout = TimeAmount(delegation.timeout)
        client = .outbound(
            to: url, timeout: .init(connect: min(timeout, .seconds(2)), read: timeout), idleTime: .seconds(30),
            connections: delegation.connections, tls: tls)
    }

    deinit {
        // The client keeps itself alive until it has closed its connections.
        client.shutdown { _ in }
    }

    /// Sends a GET request to the service and returns the meaning of the response's head. Resumes after the response or the deadline.
    func get<Meaning: Sendable>(
        _ url: String, _ fields: HTTPHeaders, meaning: @escaping @Sendable (HTTPResponseHead) -> Meaning
    ) async -> Result<Meaning, Failure> {
        guard inProgress.add(1, ordering: .relaxed).newValue <= delegation.connections + delegation.queue else {
            inProgress.subtract(1, ordering: .relaxed)
            return .failure(.busy)
        }
        defer { inProgress.subtract(1, ordering: .relaxed) }
        let delegate = ResponseDelegate(meaning)
        var fields = fields
        // The host of such a URL is the path of the socket, which servers reject as a host: nginx responds 400.
        if isOnUnixSocket { fields.add(name: "Host", value: "localhost") }
        do {
            let request = try HTTPClient.Request(url: url, method: .GET, headers: fields)
            // The deadline covers the whole exchange, including the body.
            let task = client.execute(
                request: request, delegate: delegate, deadline: .now() + TimeAmount(delegation.timeout))
            return .success(try await task.futureResult.get())
        } catch let error as HTTPClientError
            where [.deadlineExceeded, .readTimeout, .connectTimeout].contains(error)
        {
            return .failure(delegate.isSent ? .timedOut : .unreachable("no connection before the deadline"))
        } catch {
            let reason = ServiceFailure.reason(of: error)
            return .failure(delegate.isSent ? .failed(reason) : .unreachable(reason))
        }
    }
}

extension ServiceClient.Failure {
    /// The reason of the outage.
    var outage: OutageReason {
        switch self {
        case .busy: .busy
        case .unreachable: .unreachable
        case .timedOut: .timedOut
        case .failed: .failed
        }
    }

    /// The reason for the log.
    var reason: String {
        switch self {
        case .busy: "too many queries are waiting"
        case .timedOut: "no response before the deadline"
        case .unreachable(let reason), .failed(let reason): reason
        }
    }
}
