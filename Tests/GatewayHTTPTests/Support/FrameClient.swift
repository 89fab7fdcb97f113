import NIOCore
import NIOHPACK
import NIOPosix

/// An HTTP/2 client that sends arbitrary frames and returns the received ones.
final class FrameClient: Sendable {
    /// A frame (RFC 9113, section 4.1).
    struct Frame: Sendable, Equatable {
        var type: UInt8
        var flags: UInt8 = 0
        var stream: UInt32 = 0
        var payload: [UInt8] = []

        var bytes: [UInt8] {
            let length = payload.count
            let head = [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
            return head + Self.number(stream) + payload
        }

        init(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = []) {
            (self.type, self.flags, self.stream, self.payload) = (type, flags, stream, payload)
        }

        /// Removes and returns the first frame of the bytes; nil if it is incomplete.
        init?(takenFrom bytes: inout [UInt8]) {
            guard bytes.count >= 9 else { return nil }
            let length = Int(Self.number(bytes[..<3]))
            guard bytes.count >= 9 + length else { return nil }
            self.init(
                type: bytes[3], flags: bytes[4], stream: Self.number(bytes[5..<9]),
                payload: Array(bytes[9..<(9 + length)]))
            bytes.removeFirst(9 + length)
        }

        static func number(_ bytes: some Collection<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }

        static func number(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(number >> (24 - 8 * $0) & 0xFF) } }

        /// Returns a HEADERS frame.
        static func headers(
            _ stream: UInt32, _ fields: [(String, String)], end: Bool = true, endsHead: Bool = true
        ) -> Frame {
            Frame(type: 1, flags: (end ? 1 : 0) | (endsHead ? 4 : 0), stream: stream, payload: literal(fields))
        }

        static func data(_ stream: UInt32, _ text: String, end: Bool = true) -> Frame {
            Frame(type: 0, flags: end ? 1 : 0, stream: stream, payload: Array(text.utf8))
        }

        static func reset(_ stream: UInt32) -> Frame { Frame(type: 3, stream: stream, payload: number(8)) }
        static let settings = Frame(type: 4)
        static let settingsAck = Frame(type: 4, flags: 1)
        static func setting(_ identifier: UInt16, _ value: UInt32) -> Frame {
            Frame(type: 4, payload: [UInt8(identifier >> 8), UInt8(identifier & 0xFF)] + number(value))
        }
        static let ping = Frame(type: 6, payload: [UInt8](repeating: 7, count: 8))
        static func pingAck(_ payload: [UInt8]) -> Frame { Frame(type: 6, flags: 1, payload: payload) }
        static func windowUpdate(_ stream: UInt32, _ size: UInt32) -> Frame {
            Frame(type: 8, stream: stream, payload: number(size))
        }
        static func continuation(_ stream: UInt32, _ fields: [(String, String)], endsHead: Bool) -> Frame {
            Frame(type: 9, flags: endsHead ? 4 : 0, stream: stream, payload: literal(fields))
        }

        /// Encodes field lines without indexing and compression (RFC 7541, section 6.2.2), so that any byte is
        /// possible.
        static func literal(_ fields: [(String, String)]) -> [UInt8] {
            fields.flatMap { name, value in [0] + text(name) + text(value) }
        }

        private static func text(_ text: String) -> [UInt8] {
            let bytes = Array(text.utf8)
            guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
            var (head, rest) = ([UInt8(127)], bytes.count - 127)
            while rest >= 128 {
                head.append(UInt8(rest % 128 + 128))
                rest /= 128
            }
            return head + [UInt8(rest)] + bytes
        }
    }

    /// The result of a stream.
    struct Response: Sendable, Equatable {
        var status: Int?
        var fields: [String: String] = [:]
        var body = ""
        /// The error code of its reset; nil if it was not reset.
        var reset: UInt32?
    }

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    let channel: any Channel
    private let inbox: Inbox

    private init(channel: any Channel, inbox: Inbox) {
        self.channel = channel
        self.inbox = inbox
    }

    /// Connects and sends the client preface unless told otherwise.
    static func connect(
        to address: SocketAddress, group: any EventLoopGroup, saysPreface: Bool = true,
        through prepare: @escaping @Sendable (ChannelPipeline.SynchronousOperations) throws -> Void = { _ in }
    ) async throws -> FrameClient {
        let inbox = Inbox()
        let channel = try await ClientBootstrap(group: group)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try prepare(channel.pipeline.syncOperations)
                    try channel.pipeline.syncOperations.addHandler(Collector(inbox: inbox))
                }
            }
            .connect(to: address).get()
        let client = FrameClient(channel: channel, inbox: inbox)
        if saysPreface { try await client.send(bytes: preface + Frame.settings.bytes) }
        return client
    }

    func send(_ frames: Frame...) async throws { try await send(frames) }

    func send(_ frames: [Frame]) async throws { try await send(bytes: frames.flatMap(\.bytes)) }

    func send(bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

    /// Returns the response on a stream; it is incomplete if the connection has closed.
    func answer(on stream: UInt32) async -> Response { await inbox.answer(on: stream) }

    /// Returns the next frame that matches; nil at the end of the connection. Earlier frames are discarded.
    func frame(_ fits: @escaping @Sendable (Frame) -> Bool) async -> Frame? { await inbox.frame(fits) }

    /// Waits until the connection closes. Returns the error code of GOAWAY; nil without GOAWAY.
    func goAwayAtEnd() async -> UInt32? { await inbox.goAwayAtEnd() }
}

/// The received frames, which tests can await.
private actor Inbox {
    private var rest: [UInt8] = []
    private var frames: [FrameClient.Frame] = []
    private var answers: [UInt32: (answer: FrameClient.Response, isComplete: Bool)] = [:]
    private var goAway: UInt32?
    private var hasEnded = false
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private var waiters: [CheckedContinuation<Void, Never>] = []

    func add(_ bytes: [UInt8]) {
        rest += bytes
        while let frame = FrameClient.Frame(takenFrom: &rest) { take(frame) }
        wake()
    }

    func end() {
        hasEnded = true
        wake()
    }

    func answer(on stream: UInt32) async -> FrameClient.Response {
        while answers[stream]?.isComplete != true, !hasEnded { await change() }
        return answers[stream]?.answer ?? FrameClient.Response()
    }

    func frame(_ fits: @Sendable (FrameClient.Frame) -> Bool) async -> FrameClient.Frame? {
        while true {
            while !frames.isEmpty {
                let frame = frames.removeFirst()
                if fits(frame) { return frame }
            }
            if hasEnded { return nil }
            await change()
        }
    }

    func goAwayAtEnd() async -> UInt32? {
        while !hasEnded { await change() }
        return goAway
    }

    private func take(_ frame: FrameClient.Frame) {
        frames.append(frame)
        var (answer, isComplete) = answers[frame.stream] ?? (FrameClient.Response(), false)
        switch frame.type {
        case 0:
            answer.body += String(decoding: frame.payload, as: UTF8.self)
            isComplete = isComplete || frame.flags & 1 != 0
        case 1:
            var block = ByteBuffer(bytes: frame.payload)
            guard let fields = try? decoder.decodeHeaders(from: &block) else { return }
            if fields.first(name: ":status") == "100" { return }
            for (name, value, _) in fields {
                if name == ":status" { answer.status = Int(value) } else { answer.fields[name] = value }
            }
            isComplete = isComplete || frame.flags & 1 != 0
        case 3:
            answer.reset = FrameClient.Frame.number(frame.payload)
            isComplete = true
        case 7:
            goAway = FrameClient.Frame.number(frame.payload[4..<8])
            return
        default:
            return
        }
        answers[frame.stream] = (answer, isComplete)
    }

    private func change() async { await withCheckedContinuation { waiters.append($0) } }

    private func wake() {
        let waiting = waiters
        waiters = []
        for waiter in waiting { waiter.resume() }
    }
}

private final class Collector: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let events: AsyncStream<[UInt8]?>.Continuation

    init(inbox: Inbox) {
        let (stream, events) = AsyncStream.makeStream(of: [UInt8]?.self)
        self.events = events
        // A single task keeps the order of the frames.
        Task {
            for await event in stream {
                if let event { await inbox.add(event) } else { await inbox.end() }
            }
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        events.yield(Array(unwrapInboundIn(data).readableBytesView))
    }

    func channelInactive(context: ChannelHandlerContext) {
        events.yield(nil)
        events.finish()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
