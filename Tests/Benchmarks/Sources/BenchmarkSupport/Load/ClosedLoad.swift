package import NIOCore
import NIOPosix

/// A closed load: each connection makes its next call as soon as it receives a response. The requests are used in turn.
package final class ClosedLoad {
    /// The error for a call without a status of 200, which makes the measurement invalid.
    package struct NotCarriedOut: Error, CustomStringConvertible {
        /// The status, or 0 without a response.
        package let status: Int
        /// The message.
        package var description: String { status == 0 ? "a connection was lost" : "a call received \(status)" }
    }

    private let loop: any EventLoop
    private let connections: [NIOLoopBound<ClientConnection>]

    /// Opens the connections to a port on 127.0.0.1.
    package init(connections: Int, port: Int, on loop: any EventLoop) async throws {
        self.loop = loop
        self.connections = try await ClientConnection.open(connections, port: port, on: loop)
    }

    /// Closes the connections.
    package func close() {
        for connection in connections { loop.execute { connection.value.close() } }
    }

    /// Makes calls until the time is over.
    ///
    /// - Returns: the number of responses with 200.
    package func run(_ requests: [ByteBuffer], for time: TimeAmount) async throws -> Int {
        try await run({ requests[$0 % requests.count] }, until: .now() + time, atMost: .max)
    }

    /// Makes a number of calls; `request` receives their indexes.
    package func run(_ count: Int, _ request: @escaping @Sendable (Int) -> ByteBuffer) async throws {
        _ = try await run(request, until: .distantFuture, atMost: count)
    }

    /// Makes one call on each connection, with a limit of concurrent calls.
    package func runOnEach(_ request: ByteBuffer, atATime count: Int) async throws {
        for start in stride(from: 0, to: connections.count, by: count) {
            let some = ClosedLoad(Array(connections[start..<min(start + count, connections.count)]), on: loop)
            try await some.run(some.connections.count) { _ in request }
        }
    }

    private init(_ connections: [NIOLoopBound<ClientConnection>], on loop: any EventLoop) {
        self.loop = loop
        self.connections = connections
    }

    private func run(
        _ requests: @escaping @Sendable (Int) -> ByteBuffer, until end: NIODeadline, atMost most: Int
    ) async throws -> Int {
        try await loop.flatSubmit { [connections, loop] in
            let run = Run(requests, until: end, atMost: most, on: loop)
            return run.start(connections.map(\.value))
        }.get()
    }

    private final class Run {
        private let request: @Sendable (Int) -> ByteBuffer
        private let end: NIODeadline
        private let most: Int
        private let done: EventLoopPromise<Int>
        private var next = 0
        private var succeeded = 0
        private var running = 0

        init(
            _ request: @escaping @Sendable (Int) -> ByteBuffer, until end: NIODeadline, atMost most: Int,
            on loop: any EventLoop
        ) {
            self.request = request
            self.end = end
            self.most = most
            done = loop.makePromise()
        }

        func start(_ connections: [ClientConnection]) -> EventLoopFuture<Int> {
            running = connections.count
            for connection in connections {
                connection.onAnswer = { connection, status in
                    guard status == 200 else { return self.done.fail(NotCarriedOut(status: status)) }
                    self.succeeded += 1
                    self.go(on: connection)
                }
                go(on: connection)
            }
            return done.futureResult
        }

        private func go(on connection: ClientConnection) {
            guard next < most, NIODeadline.now() < end else {
                connection.onAnswer = { _, _ in }
                running -= 1
                if running == 0 { done.succeed(succeeded) }
                return
            }
            let request = request(next)
            next += 1
            connection.call(request)
        }
    }
}
