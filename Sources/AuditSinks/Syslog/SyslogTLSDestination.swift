internal import GatewaySupport
internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import OutboundHTTP
internal import OutboundTLS
internal import Synchronization

/// Sends syslog messages over TLS (RFC 5425).
///
/// The protocol has no confirmation. A batch counts as confirmed once the receiver's kernel has acknowledged every byte
/// of it and the connection is still open. A receiver may nevertheless close the connection before it has read the bytes,
/// so the batches of the last ``RecentFrames/period`` before a break are sent again on the next connection.
final class SyslogTLSDestination: SinkDestination {
    private let host: String
    private let port: Int
    private let settings: SyslogSettings
    private let message: SyslogMessage
    private let authority: AuthorityFile
    private let thread: DeliveryThread
    private let clocks: Clocks
    private let state = Mutex(State())

    private struct State {
        var channel: (any Channel)?
        var recent = RecentFrames()
        /// The frames to send again on the next connection, before others.
        var repeated: [ByteBuffer] = []
    }

    let maximumRecords = 500
    /// The time for a TCP connection.
    private static let connectTimeout = TimeAmount.seconds(10)
    /// The time for the TLS handshake, and the time in which a receiver has to take a piece, or its kernel to acknowledge
    /// some bytes.
    private static let deadline = TimeAmount.seconds(30)
    /// The size of the pieces in bytes.
    private static let pieceBytes = 1 << 16

    init(
        _ settings: SyslogSettings, host: String, port: Int, message: SyslogMessage, thread: DeliveryThread,
        clocks: Clocks
    ) {
        self.host = host
        self.port = port
        self.settings = settings
        self.message = message
        self.thread = thread
        self.clocks = clocks
        authority = AuthorityFile(settings.authority)
    }

    var hasUnsent: Bool { state.withLock { !$0.repeated.isEmpty } }

    func deliver(_ batch: SinkBatch) async throws(DeliveryFailure) {
        var frames = ByteBuffer()
        batch.forEachLine { frames.writeBytes(message.frame($0)) }
        do {
            let channel = try await connection()
            let repeated = state.withLock(\.repeated)
            let all = repeated + (batch.count > 0 ? [frames] : [])
            try await send(all, on: channel)
            let now = clocks.monotonic()
            let isOpen = state.withLock { state in
                // A connection that ended meanwhile has added its recent frames to `repeated`.
                guard state.channel === channel else { return false }
                for sent in all { state.recent.add(sent, at: now) }
                state.repeated.removeFirst(repeated.count)
                return true
            }
            guard isOpen else { throw DeliveryFailure("the receiver closed the connection") }
        } catch {
            await close()
            throw error as? DeliveryFailure ?? DeliveryFailure(NetworkFailure.reason(of: error))
        }
    }

    func close() async {
        guard let open = state.withLock(\.channel) else { return }
        connectionEnded(open)
        open.close(promise: nil)
    }

    /// Keeps the frames that the receiver may not have read for the next connection. Called when a connection ends; the
    /// late end of an earlier connection has no effect.
    private func connectionEnded(_ ended: any Channel) {
        let now = clocks.monotonic()
        state.withLock { state in
            guard state.channel === ended else { return }
            state.channel = nil
            state.repeated += state.recent.removeAll(at: now)
        }
    }

    private func send(_ frames: [ByteBuffer], on channel: any Channel) async throws {
        // Closing the channel fails the write, so that neither a receiver that reads nothing nor a stop waits longer.
        @Sendable func timeout() -> Scheduled<Void> {
            channel.eventLoop.scheduleTask(in: Self.deadline) { channel.close(promise: nil) }
        }
        try await withTaskCancellationHandler {
            for var rest in frames {
                while let piece = rest.readSlice(length: min(rest.readableBytes, Self.pieceBytes)),
                    piece.readableBytes > 0
                {
                    let end = timeout()
                    defer { end.cancel() }
                    try await channel.writeAndFlush(piece)
                }
            }
            var (end, least) = (timeout(), UInt64.max)
            defer { end.cancel() }
            while case let left = try await channel.unacknowledgedBytes(), left > 0 {
                if left < least {
                    end.cancel()
                    (end, least) = (timeout(), left)
                }
                try await Task.sleep(for: .milliseconds(2))
            }
        } onCancel: {
            channel.close(promise: nil)
        }
        guard channel.isActive else { throw DeliveryFailure("the receiver closed the connection") }
    }

    /// Returns the open connection to the verified receiver; connects if necessary.
    private func connection() async throws -> any Channel {
        if let open = state.withLock(\.channel) {
            if open.isActive { return open }
            connectionEnded(open)
        }
        let tls = try await thread.run { [authority] () throws(DeliveryFailure) in try authority.clientConfiguration() }
        let context = try NIOSSLContext(configuration: tls)
        let name = ServerName(settings.serverName ?? host)
        let (made, secured) = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(Self.connectTimeout)
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try TLSHandshakeHandler.add(to: channel, context, name, timeout: Self.deadline)
                    let end = SyslogConnectionHandler { [weak self] in self?.connectionEnded($0) }
                    try channel.pipeline.syncOperations.addHandler(end)
                    return (channel, tls.finished)
                }
            }
        try await withTaskCancellationHandler {
            try await secured.get()
        } onCancel: {
            made.close(promise: nil)
        }
        state.withLock { $0.channel = made }
        return made
    }
}

/// The frames that were sent recently, in order.
struct RecentFrames {
    private var entries: [(time: MonotonicInstant, frames: ByteBuffer)] = []
    private var bytes = 0

    /// The time after which a receiver is trusted to have read what its kernel has acknowledged. Receivers close idle
    /// connections after a longer time.
    static let period = Duration.seconds(10)
    /// The maximum number of bytes that are kept.
    static let maximumBytes = 2 * SinkBatch.maximumBytes

    /// Adds frames that were sent at the time.
    mutating func add(_ frames: ByteBuffer, at time: MonotonicInstant) {
        entries.append((time, frames))
        bytes += frames.readableBytes
        discardOld(at: time)
    }

    /// Removes all frames and returns those that were sent within the period before the time.
    mutating func removeAll(at time: MonotonicInstant) -> [ByteBuffer] {
        discardOld(at: time)
        defer { (entries, bytes) = ([], 0) }
        return entries.map(\.frames)
    }

    private mutating func discardOld(at time: MonotonicInstant) {
        while let first = entries.first,
            bytes > Self.maximumBytes || .nanoseconds(time.nanoseconds - first.time.nanoseconds) > Self.period
        {
            bytes -= first.frames.readableBytes
            entries.removeFirst()
        }
    }
}

/// Discards what a receiver sends, closes the connection after an error, and reports its end.
private final class SyslogConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let onEnd: @Sendable (any Channel) -> Void

    init(onEnd: @escaping @Sendable (any Channel) -> Void) { self.onEnd = onEnd }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func channelInactive(context: ChannelHandlerContext) { onEnd(context.channel) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

extension Channel {
    /// Returns the number of bytes that the remote kernel has not acknowledged, or an estimate of it. Throws if the
    /// connection is closed.
    fileprivate func unacknowledgedBytes() async throws -> UInt64 {
        guard isActive, let socket = self as? any SocketOptionProvider else { throw ChannelError.ioOnClosedChannel }
        let progress: TCPProgress = try await socket.unsafeGetSocketOption(level: .tcp, name: .init(rawValue: TCP_INFO))
            .get()
        return UInt64(progress.unacknowledgedSegments) + UInt64(progress.unsentBytes)
    }
}

/// The beginning of the structure that TCP_INFO (tcp(7), linux/tcp.h) returns. Glibc's `tcp_info` ends before the number
/// of unsent bytes.
private struct TCPProgress: Sendable {
    private let words: [38 of UInt32]

    /// `tcpi_unacked`
    var unacknowledgedSegments: UInt32 { words[6] }
    /// `tcpi_notsent_bytes`
    var unsentBytes: UInt32 { words[36] }
}
