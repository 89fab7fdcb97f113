import BenchmarkSupport
import NIOCore

/// The interface to the sender and its connections from outside their event loop.
struct Sender {
    private let loop: any EventLoop
    private let port: Int
    private let request: ByteBuffer
    private let sender: NIOLoopBound<OpenLoopSender>

    init(_ connections: Int, port: Int, request: ByteBuffer, on loop: any EventLoop) async throws {
        self.loop = loop
        self.port = port
        self.request = request
        let opened = try await ClientConnection.open(connections, port: port, on: loop)
        sender = try await loop.submit {
            NIOLoopBound(
                OpenLoopSender(opened.map(\.value), port: port, request: request, on: loop), eventLoop: loop)
        }.get()
    }

    func run(_ parts: [OpenLoopSender.Part]) async throws -> [Tally] {
        try await loop.flatSubmit { [sender] in sender.value.run(parts) }.get()
    }

    /// Returns the rate of calls of 64 closed-loop clients.
    func closedRate(seconds: Double) async throws -> Double {
        let load = try await ClosedLoad(connections: 64, port: port, on: loop)
        defer { load.close() }
        return Double(try await load.run([request], for: .nanoseconds(Int64(seconds * 1e9)))) / seconds
    }
}
