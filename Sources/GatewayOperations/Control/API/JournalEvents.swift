internal import GatewayStore
internal import GatewaySupport
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// `GET /v1/events`: sends the records of the journal as server-sent events while they are written.
///
/// The id of an event is the number of its record, so a client that connects again with `Last-Event-ID` misses nothing
/// that retention has kept. A record may be sent a moment before it is synchronized to disk.
final class JournalEvents: Sendable {
    private let directory: String
    private let threads: NIOThreadPool
    private let streams = Atomic(0)
    private let isStopping = Atomic(false)

    /// The maximum number of streams. They hold connections, of which other requests need some.
    static let maximumStreams = 8
    /// The period at which new records are read.
    private static let period = Duration.milliseconds(250)
    /// The number of periods without a record after which a comment is sent, so that intermediaries keep the connection.
    private static let periodsPerComment = 60

    /// Creates the source of the events of the journal in the directory.
    init(directory: String, threads: NIOThreadPool = .singleton) {
        self.directory = directory
        self.threads = threads
    }

    /// Ends all streams within a period.
    func stop() { isStopping.store(true, ordering: .releasing) }

    /// Returns the response with the stream. It ends when the peer disconnects or the gateway stops.
    func response(to request: Request, in context: OperatorRequestContext) throws -> Response {
        guard try QueryText.parse(request.uri.query).isEmpty else {
            throw ControlError.malformed("Unknown parameter. The query takes: none.")
        }
        let last = try Self.lastEventID(request.headers[.lastEventID])
        guard streams.add(1, ordering: .relaxed).newValue <= Self.maximumStreams else {
            streams.subtract(1, ordering: .relaxed)
            throw OperatorProblem(.overloaded, "There are \(Self.maximumStreams) streams of events already.")
        }
        // The body is not written if the peer has disconnected, but each connection closes.
        context.channel.closeFuture.whenComplete { [self] _ in streams.subtract(1, ordering: .relaxed) }
        let channel = context.channel
        return Response(
            status: .ok, headers: [.contentType: "text/event-stream"],
            body: ResponseBody { [self] writer in
                var tail = try await threads.runIfActive { [directory] in try Self.tail(of: directory, after: last) }
                // The client learns that the stream has begun.
                try await writer.write(ByteBuffer(string: ":\n\n"))
                var idlePeriods = 0
                while channel.isActive, !isStopping.load(ordering: .acquiring) {
                    let lines: [[UInt8]]
                    (tail, lines) = try await threads.runIfActive { [tail] in
                        var tail = tail
                        let lines = try tail.nextBlock()
                        return (tail, lines)
                    }
                    if !lines.isEmpty {
                        idlePeriods = 0
                        try await writer.write(Self.events(lines))
                        continue
                    }
                    idlePeriods += 1
                    if idlePeriods.isMultiple(of: Self.periodsPerComment) {
                        try await writer.write(ByteBuffer(string: ":\n\n"))
                    }
                    try await Task.sleep(for: Self.period)
                }
                try await writer.finish(nil)
            })
    }

    /// Returns the number of the last record that the client has; nil without one.
    static func lastEventID(_ text: String?) throws(ControlError) -> UInt64? {
        guard let text else { return nil }
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = UInt64(text)
        else { throw .malformed("Last-Event-ID must be the id of an event.") }
        return number
    }

    /// Returns the events of journal lines.
    static func events(_ lines: [[UInt8]]) -> ByteBuffer {
        var buffer = ByteBuffer()
        for line in lines {
            // Every line begins with `{"seq":`.
            let number = line.dropFirst(7).prefix { (0x30...0x39).contains($0) }
            buffer.writeStaticString("id: ")
            buffer.writeBytes(number)
            buffer.writeStaticString("\nevent: record\ndata: ")
            buffer.writeBytes(line)
            buffer.writeStaticString("\n\n")
        }
        return buffer
    }

    private static func tail(of directory: String, after last: UInt64?) throws -> JournalTail {
        if let last { return try JournalTail(directory: directory, after: last) }
        var tail = JournalTail(directory: directory)
        _ = try tail.last(0)
        return tail
    }
}

extension HTTPField.Name {
    /// The id of the last event that a client of server-sent events has (WHATWG HTML, section 9.2).
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
}
