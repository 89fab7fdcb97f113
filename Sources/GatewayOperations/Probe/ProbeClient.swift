internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayHTTP
internal import NIOCore
internal import NIOPosix
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
    private let done = Mutex<[(request: Request, answer: BackendResponse?)]>([])

    init(_ target: ProbeTarget) { self.target = target }

    /// All requests in order, with their responses.
    var exchanges: [(request: Request, answer: BackendResponse?)] { done.withLock { $0 } }

    private static let responseTimeout = TimeAmount.seconds(65)

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
        let bytes = ByteBuffer(string: text + "\r\n" + (request.body ?? ""))
        do {
            let channel = try await connect()
            let deadline = channel.channel.eventLoop.scheduleTask(in: Self.responseTimeout) {
                channel.channel.close(promise: nil)
            }
            defer { deadline.cancel() }
            return try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(bytes)
                var framer = ResponseFramer(bodyLimit: 64 << 10)
                for try await piece in inbound {
                    switch framer.receive(piece) {
                    case .needMore: continue
                    case .response(let response, _): return response
                    case .fault(let fault): throw ProbeError("the response is not HTTP: \(fault.detail)")
                    }
                }
                guard case .response(let response, _) = framer.receiveEnd() else {
                    throw ProbeError("the response was incomplete or missing")
                }
                return response
            }
        } catch let fault as ProbeError {
            throw fault
        } catch {
            throw ProbeError("\(target.address): \(OperatorMessage.of(error))")
        }
    }

    private func connect() async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connectTimeout(.seconds(2))
        let initializer: @Sendable (any Channel) -> EventLoopFuture<NIOAsyncChannel<ByteBuffer, ByteBuffer>> = {
            [target] channel in
            channel.eventLoop.makeCompletedFuture {
                if case .tls(let host, _) = target.address {
                    guard let tls = target.tls else { throw ProbeError("no TLS settings for the backend") }
                    try channel.pipeline.syncOperations.addHandler(tls.handler(host: host))
                }
                return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
            }
        }
        switch target.address {
        case .tcp(let host, let port), .tls(let host, let port):
            return try await bootstrap.connect(host: host, port: port, channelInitializer: initializer)
        case .unix(let path):
            return try await bootstrap.connect(unixDomainSocketPath: path, channelInitializer: initializer)
        }
    }
}

/// The reason why a request of the probe has no response.
struct ProbeError: Error, Sendable, Hashable {
    let detail: String

    init(_ detail: String) { self.detail = detail }
}
