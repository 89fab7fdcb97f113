internal import GatewayCore
package import GatewayStore
internal import GatewaySupport
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// `GET /v1/events`: sends the records of the journal as server-sent events while they are written.
///
/// The id of an event is the number of its record, so a client that connects again with `Last-Event-ID` misses nothing
/// that retention has kept. Only records that are on disk are sent. If several gateways share the store, the records are
/// those of all, each with the member `node`, and the id states how far each journal was read.
final class JournalEvents: Sendable {
    private let journal: JournalSource
    private let threads: NIOThreadPool
    private let streams = Atomic(0)
    private let isStopping = Atomic(false)

    /// The maximum number of streams. They hold connections, of which other requests need some.
    static let maximumStreams = 8
    /// The period at which new records are read.
    private static let period = Duration.milliseconds(250)
    /// The size of one read.
    private static let bounds = JournalFollower.Bounds(lines: 500, bytes: 1 << 18)
    /// The number of periods without a record after which a comment is sent, so that intermediaries keep the connection.
    private static let periodsPerComment = 60

    /// Creates the source of the events of a journal.
    init(_ journal: JournalSource, threads: NIOThreadPool = .singleton) {
        self.journal = journal
        self.threads = threads
    }

    /// Ends all streams within a period.
    func stop() { isStopping.store(true, ordering: .releasing) }

    /// Returns the response with the stream. It ends when the peer disconnects or the gateway stops.
    func response(to request: Request, in context: OperatorRequestContext) async throws -> Response {
        guard try QueryText.parse(request.uri.query).isEmpty else {
            throw ControlError.malformed("Unknown parameter. The query takes: none.")
        }
        let start = try await start(after: request.headers[.lastEventID])
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
                // The client learns that the stream has begun.
                try await writer.write(ByteBuffer(string: ":\n\n"))
                switch start {
                case .own(let position): try await write(from: position, to: &writer, channel)
                case .shared(let feed, let tail): try await write(feed, from: tail, to: &writer, channel)
                }
                try await writer.finish(nil)
            })
    }

    /// Where a stream begins.
    private enum Start {
        /// Before a record of the gateway's own journal.
        case own(JournalPosition)
        /// After these records of all journals.
        case shared(SharedJournalFeed, SharedTail)
    }

    /// Returns where the stream of a client begins that has the event with this id.
    private func start(after id: String?) async throws(ControlError) -> Start {
        if let feed = journal.feed {
            let tail = id.flatMap(SharedTail.init(text:))
            guard id == nil || tail != nil else { throw Self.unknownID }
            do throws(HistoryUnavailable) {
                // Also for a client that knows where: a stream that cannot be read does not begin.
                let end = try await feed.end()
                return .shared(feed, tail ?? end)
            } catch {
                throw .unavailable("The journals of all gateways cannot be read: \(error.detail)")
            }
        }
        let last = try Self.lastEventID(id)
        let first = journal.followers.durableEnd
        guard last ?? 0 < max(first, 1) else { throw .refused("The journal has no such event yet.") }
        return .own(JournalPosition(before: last.map { $0 + 1 } ?? first))
    }

    /// Writes the events of the gateway's own journal.
    @concurrent private func write(
        from first: JournalPosition, to writer: inout any ResponseBodyWriter, _ channel: any Channel
    ) async throws {
        let follower = JournalFollower(directory: journal.directory)
        var position = first
        var idlePeriods = 0
        while isWanted(channel) {
            let end = journal.followers.durableEnd
            if position.next < end {
                let excerpt = try await threads.runIfActive { [follower, position] in
                    try follower.read(from: position, before: end, within: Self.bounds)
                }
                if excerpt.count > 0 {
                    idlePeriods = 0
                    try await writer.write(Self.events(excerpt.lines))
                }
                if excerpt.position != position {
                    position = excerpt.position
                    continue
                }
            }
            try await pause(&idlePeriods, &writer)
        }
    }

    /// Writes the events of all journals. The stream ends if the store cannot be read; the client connects again.
    @concurrent private func write(
        _ feed: SharedJournalFeed, from first: SharedTail, to writer: inout any ResponseBodyWriter,
        _ channel: any Channel
    ) async throws {
        var tail = first
        var idlePeriods = 0
        while isWanted(channel) {
            let found = try await feed.read(from: tail)
            tail = found.tail
            if found.lines.isEmpty {
                try await pause(&idlePeriods, &writer)
            } else {
                idlePeriods = 0
                var events = ByteBuffer()
                for found in found.lines { Self.write(found.line.namingNode, found.position.utf8, to: &events) }
                try await writer.write(events)
            }
        }
    }

    private func isWanted(_ channel: any Channel) -> Bool {
        channel.isActive && !isStopping.load(ordering: .acquiring)
    }

    /// Waits for the next period, and writes a comment after many without a record.
    @concurrent private func pause(_ idlePeriods: inout Int, _ writer: inout any ResponseBodyWriter) async throws {
        idlePeriods += 1
        if idlePeriods.isMultiple(of: Self.periodsPerComment) { try await writer.write(ByteBuffer(string: ":\n\n")) }
        try await Task.sleep(for: Self.period)
    }

    /// Returns the number of the last record that the client has; nil without one.
    static func lastEventID(_ text: String?) throws(ControlError) -> UInt64? {
        guard let text else { return nil }
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = UInt64(text)
        else { throw unknownID }
        return number
    }

    private static var unknownID: ControlError { .malformed("Last-Event-ID must be the id of an event.") }

    /// Returns the events of journal lines, each with its line feed.
    static func events(_ lines: [UInt8]) -> ByteBuffer {
        var buffer = ByteBuffer()
        for line in lines.split(separator: UInt8(ascii: "\n")) {
            // Every line begins with `{"seq":`.
            write(line, line.dropFirst(7).prefix { (0x30...0x39).contains($0) }, to: &buffer)
        }
        return buffer
    }

    private static func write(
        _ line: some Sequence<UInt8>, _ id: some Sequence<UInt8>, to buffer: inout ByteBuffer
    ) {
        buffer.writeStaticString("id: ")
        buffer.writeBytes(id)
        buffer.writeStaticString("\nevent: record\ndata: ")
        buffer.writeBytes(line)
        buffer.writeStaticString("\n\n")
    }
}

/// A journal whose records are read while it is written.
package struct JournalSource: Sendable {
    package let directory: String
    package let followers: JournalFollowers
    /// The journals of all gateways that share the store; nil if there is only this one.
    package let feed: SharedJournalFeed?

    /// Creates the source.
    ///
    /// - Parameters:
    ///   - directory: The directory of the segments.
    ///   - followers: The followers in the configuration of the journal, which know what is on disk.
    ///   - feed: The journals of all gateways that share the store; nil if there is only this one.
    package init(directory: String, followers: JournalFollowers, feed: SharedJournalFeed? = nil) {
        self.directory = directory
        self.followers = followers
        self.feed = feed
    }
}

extension HTTPField.Name {
    /// The id of the last event that a client of server-sent events has (WHATWG HTML, section 9.2).
    fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
}
