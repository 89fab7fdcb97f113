import Foundation
import Gateway
import GatewayCore
import GatewayHTTP
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import NIOCore
import NIOPosix

/// A load of sends over loopback through a gateway with one event loop to a backend that responds immediately. Clients
/// and backend share another event loop. Each client sends again as soon as it receives a response.
struct SendLoad {
    /// The journal's directory; nil to record nothing.
    let journal: String?
    let connections: Int

    struct Result: CustomStringConvertible {
        let rate: Double
        let description: String
    }

    func measure(for time: Duration) async throws -> Result {
        let peers = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let backend = try await ServerBootstrap(group: peers)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Backend()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let upstream = try await Upstream.start(
            configuration: UpstreamConfiguration(
                address: .tcp(host: "127.0.0.1", port: backend.localAddress?.port ?? 0)), group: group)
        let file = try journal.map { directory in
            var configuration = JournalFile.Configuration(
                directory: directory, logger: Logger(label: "journal") { _ in SwiftLogNoOpLogHandler() })
            configuration.minimumFree = 0
            return try JournalFile(configuration)
        }
        let gateway = try await Self.gateway(upstream, file ?? NoJournal(), group)
        let listener = try await Listener.start(
            configuration: ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0)), serving: gateway,
            group: group)

        let all = AllLatencies()
        let clock = ContinuousClock()
        let began = clock.now
        let before = Usage.now
        let end = began + time
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for _ in 0..<connections {
                let done = peers.next().makePromise(of: Latencies.self)
                _ = try await ClientBootstrap(group: peers)
                    .channelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.addHandler(Client(until: end, done: done))
                        }
                    }
                    .connect(host: "127.0.0.1", port: listener.port ?? 0).get()
                tasks.addTask {
                    let own = try await done.futureResult.get()
                    all.add(own)
                }
            }
            try await tasks.waitForAll()
        }
        let elapsed = (clock.now - began) / .seconds(1)
        let after = Usage.now
        await listener.drain(deadline: .now() + .seconds(5))
        await upstream.shutdown()
        await file?.close()
        try await backend.close()
        try await group.shutdownGracefully()
        try await peers.shutdownGracefully()

        let latencies = all.sum
        let rate = Double(latencies.count) / elapsed
        var text = String(
            format: "%d concurrent: %.0f sends/s, %.1f us CPU per send with client and backend, ", connections, rate,
            Double(after.microseconds - before.microseconds) / Double(latencies.count))
        if let journal {
            let written = try Written(directory: journal)
            text += String(format: "%.1f records per sync, ", Double(written.lines) / Double(written.batches))
        }
        return Result(rate: rate, description: text + "latency \(latencies.text)")
    }

    private static func gateway(
        _ upstream: Upstream, _ journal: any Journal, _ group: MultiThreadedEventLoopGroup
    ) async throws -> Gateway {
        var rules = TestGateway.rules(clock: ManualClock())
        rules.limiter = Limiter([], clocks: .system)
        let timeline = Timeline()
        return Gateway(
            rules: rules,
            dependencies: GatewayDependencies(
                ledger: ScriptedLedger(timeline: timeline, deciding: ScriptedLedger.emptyLedgerDecision),
                sessions: MemorySessions(clock: ManualClock()), journal: journal, history: ScriptedHistory(),
                backends: [upstream], clocks: .system, scheduler: try await EventLoopScheduler.start(group: group),
                digester: KeyedDigester(key: Secret(Array(repeating: 7, count: 32))),
                logger: Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }))
    }
}

/// A journal that records nothing.
private struct NoJournal: Journal {
    func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {}
    func append(_ record: JournalRecord) {}
}

/// The backend's handler, which responds to each request. Each read is one request.
private final class Backend: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(
            wrapOutboundOut(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")), promise: nil)
    }
}

/// A client that sends until the time is over and reports the latency of each response.
private final class Client: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let request = ByteBuffer(
        string: "POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r\nHost: gateway.test\r\n"
            + "Authorization: Bearer alices-token\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n\"hi\"")

    private let end: ContinuousClock.Instant
    private let done: EventLoopPromise<Latencies>
    private let clock = ContinuousClock()
    private var latencies = Latencies()
    private var began: ContinuousClock.Instant

    init(until end: ContinuousClock.Instant, done: EventLoopPromise<Latencies>) {
        self.end = end
        self.done = done
        began = clock.now
    }

    func channelActive(context: ChannelHandlerContext) { send(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let response = unwrapInboundIn(data)
        guard response.readableBytesView.starts(with: "HTTP/1.1 200".utf8) else {
            return done.fail(NotCarriedOut(response: String(buffer: response)))
        }
        latencies.add(clock.now - began)
        if clock.now < end { return send(context) }
        done.succeed(latencies)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { done.fail(ChannelError.ioOnClosedChannel) }

    private func send(_ context: ChannelHandlerContext) {
        began = clock.now
        context.writeAndFlush(wrapOutboundOut(Self.request), promise: nil)
    }
}

/// The error for a failed send, which makes the measurement invalid.
private struct NotCarriedOut: Error {
    let response: String
}
