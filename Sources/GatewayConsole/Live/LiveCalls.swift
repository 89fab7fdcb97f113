internal import GatewayCore
package import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
package import Logging
package import NIOPosix
internal import Synchronization

/// The calls of the journal while they are recorded, for the pages that show them live.
///
/// One task reads the journal for all streams, and only while there are streams. Each stream reads the latest batch at
/// its own pace, so a browser that does not read holds nothing but its connection, and misses calls.
package final class LiveCalls: Sendable {
    /// A recorded call.
    struct Call: Sendable {
        let record: JSONValue
        /// Whether the call was rejected. Otherwise it is a send with its result.
        let isRefusal: Bool
        /// The name of the node if there are several.
        var node: String?
    }

    /// The calls of one period.
    private struct Batch {
        /// The number of the batch.
        var number: UInt64 = 0
        var calls: [Call] = []
    }

    private struct State {
        var streams = 0
        /// The number of streams of each session.
        var ofSession: [SHA256.Digest: Int] = [:]
        var isReading = false
        /// Whether the journals of all nodes cannot be read.
        var isFailing = false
        /// The latest batches, the newest last.
        var batches: [Batch] = []
        var number: UInt64 = 0
    }

    /// The maximum number of streams.
    static let maximumStreams = 64
    /// The maximum number of streams of a session.
    static let maximumStreamsOfSession = 8
    /// The period at which new records are read.
    static let period = Duration.milliseconds(250)
    /// The maximum number of calls of a period. The newest are kept.
    static let maximumCalls = 50
    /// The number of periods that a slow stream may be behind without a gap.
    private static let keptBatches = 8
    /// The size of one read. More records than this in a period are read in the next one.
    private static let bounds = JournalFollower.Bounds(lines: 50_000, bytes: 16 << 20)

    private let journal: JournalSource
    private let threads: NIOThreadPool
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates the source of a journal's calls. Nothing is read before a stream begins.
    package init(_ journal: JournalSource, logger: Logger, threads: NIOThreadPool = .singleton) {
        self.journal = journal
        self.threads = threads
        self.logger = logger
    }

    /// Begins a stream. Returns the position after which its calls begin; nil if there are too many streams.
    /// `endStream` must follow.
    func beginStream(of session: SHA256.Digest) -> UInt64? {
        let (position, begins) = state.withLock { state -> (UInt64?, Bool) in
            guard state.streams < Self.maximumStreams,
                state.ofSession[session, default: 0] < Self.maximumStreamsOfSession
            else { return (nil, false) }
            state.streams += 1
            state.ofSession[session, default: 0] += 1
            let begins = !state.isReading
            state.isReading = true
            if begins { state.isFailing = false }
            return (state.number, begins)
        }
        if begins { Task { if let feed = journal.feed { await read(feed) } else { await read() } } }
        return position
    }

    /// Ends a stream.
    func endStream(of session: SHA256.Digest) {
        state.withLock { state in
            state.streams -= 1
            state.ofSession[session] = state.ofSession[session].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
    }

    /// Whether the journals of all nodes cannot be read, so that streams end: a page that is loaded again says why.
    var isFailing: Bool { state.withLock(\.isFailing) }

    /// Returns the calls after a position, and the position after them.
    func calls(after position: UInt64) -> (calls: [Call], position: UInt64) {
        state.withLock { state in
            (state.batches.filter { $0.number > position }.flatMap(\.calls), state.number)
        }
    }

    /// Reads the journal until there are no streams any more.
    private func read() async {
        let follower = JournalFollower(directory: journal.directory)
        var position = JournalPosition(before: journal.followers.durableEnd)
        while goesOn() {
            try? await Task.sleep(for: Self.period)
            let end = journal.followers.durableEnd
            guard position.next < end else { continue }
            do {
                let (calls, next) = try await threads.runIfActive { [position] in
                    let excerpt = try follower.read(from: position, before: end, within: Self.bounds)
                    return (Self.calls(excerpt.lines), excerpt.position)
                }
                position = next
                add(calls)
            } catch {
                logger.warning("Console cannot follow the journal", metadata: ["detail": "\(error)"])
                position = JournalPosition(before: end)
            }
        }
    }

    /// Reads the journals of all nodes until there are no streams any more.
    private func read(_ feed: SharedJournalFeed) async {
        var tail: SharedTail?
        while goesOn() {
            do throws(HistoryUnavailable) {
                if let last = tail {
                    let found = try await feed.read(from: last, skipsOld: true)
                    tail = found.tail
                    add(Self.calls(found.lines.map(\.line)))
                } else {
                    tail = try await feed.end()
                }
                state.withLock { $0.isFailing = false }
            } catch {
                let isNew = state.withLock { state in
                    defer { state.isFailing = true }
                    return !state.isFailing
                }
                if isNew {
                    logger.warning("Console cannot follow the journal", metadata: ["detail": "\(error.detail)"])
                }
            }
            try? await Task.sleep(for: Self.period)
        }
    }

    /// Returns whether there are streams. Otherwise the next one begins to read again.
    private func goesOn() -> Bool {
        state.withLock { state in
            state.isReading = state.streams > 0
            if !state.isReading { state.batches = [] }
            return state.isReading
        }
    }

    /// Adds the calls of a period.
    private func add(_ calls: [Call]) {
        guard !calls.isEmpty else { return }
        state.withLock { state in
            state.number += 1
            state.batches.append(Batch(number: state.number, calls: calls))
            if state.batches.count > Self.keptBatches { state.batches.removeFirst() }
        }
    }

    /// Returns the newest calls of journal lines, in their order.
    static func calls(_ lines: [UInt8]) -> [Call] {
        calls(lines.split(separator: UInt8(ascii: "\n")).lazy.map { AuditLine(Array($0)) })
    }

    /// Returns the newest calls of lines, in their order.
    static func calls(_ lines: some BidirectionalCollection<AuditLine>) -> [Call] {
        var calls: [Call] = []
        // Only the last lines are parsed: under load there are thousands.
        for line in lines.reversed() {
            guard let record = try? JSONParser(memberLimit: 4096).parse(line.bytes.span),
                let kind = record["kind"]?.string
            else { continue }
            switch kind {
            case JournalRecord.Kind.outcome.rawValue where record["action"]?.string == Action.send.rawValue:
                calls.append(Call(record: record, isRefusal: false, node: line.node))
            case JournalRecord.Kind.rejection.rawValue:
                calls.append(Call(record: record, isRefusal: true, node: line.node))
            default: break
            }
            if calls.count == maximumCalls { break }
        }
        return calls.reversed()
    }
}
