internal import Gateway
internal import NIOCore
internal import Synchronization

/// Sends the probe's requests, each on its own connection. Some of them are requests that the gateway never sends.
final class ProbeClient: Sendable {
    /// A request of the probe.
    struct Request: Sendable, Hashable {
        var method: String
        var target: String
        var fields: [String]
        var body: String?
    }

    private let target: ProbeTarget
    private let connector: BackendConnector
    private let done = Mutex<[(request: Request, answer: BackendResponse?)]>([])

    init(_ target: ProbeTarget) {
        self.target = target
        connector = BackendConnector(address: target.address, tls: target.tls)
    }

    /// All requests in order, with their responses.
    var exchanges: [(request: Request, answer: BackendResponse?)] { done.withLock { $0 } }

    /// Sends the request and returns the response.
    func send(_ request: Request) async throws(ProbeError) -> BackendResponse {
        let place = done.withLock { done in
            done.append((request, nil))
            return done.count - 1
        }
        let answer = try await exchange(request)
        done.withLock { $0[place].answer = answer }
        return answer
    }

    private func exchange(_ request: Request) async throws(ProbeError) -> BackendResponse {
        var text = "\(request.method) \(request.target) HTTP/1.1\r\nHost: \(target.host)\r\nConnection: close\r\n"
        for field in request.fields { text += "\(field)\r\n" }
        if let body = request.body {
            text += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
        }
        if request.body == nil, request.method != "GET" { text += "Content-Length: 0\r\n" }
        return try await connector.exchange(ByteBuffer(string: text + "\r\n" + (request.body ?? "")))
    }
}
