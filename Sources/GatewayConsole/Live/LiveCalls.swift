internal import GatewayCore
package import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
package import Logging
package import NIOPosix
internal import Synchronization

/// Tells open pages which calls were recorded since they last asked, so that they load their lists again.
///
/// One task reads the journal for all pages, and only while pages ask. A page that asks too late learns that there may
/// have been any call.
package final class LiveCalls: Sendable {
    private struct State {
        var requests = 0
        /// The number of requests of each session.
        var ofSession: [SHA256.Digest: Int] = [:]
        var isReading = false
        /// The number of periods in a row without a request.
        var idlePeriods = 0
        /// Whether the journals of all nodes cannot be read.
        var isFailing = false
        var recent = RecentCalls()
    }

    /// The maximum number of requests that wait at the same time.
    static let maximumRequests = 64
    /// The maximum number of requests of a session that wait at the same time.
    static let maximumRequestsOfSession = 8
    /// The period at which new records are read.
    static let period = Duration.milliseconds(250)
    /// The number of periods without a request after which nothing is read any more. Between two requests of a page
    /// there may be one of them.
    private static let maximumIdlePeriods = 20
    /// The size of one read. More records than this in a period are read in the next one.
    private static let bounds = JournalFollower.Bounds(lines: 50_000, bytes: 16 << 20)

    private let journal: JournalSource
    private let threads: NIOThreadPool
    private let logger: Logger
    private let state = Mutex(State())

    /// Creates the source of a journal's calls. Nothing is read before a page asks.
    package init(_ journal: JournalSource, logger: Logger, threads: NIOThreadPool = .singleton) {
        self.journal = journal
        self.threads = threads
        self.logger = logger
    }

    /// Begins a request that waits for calls. Returns false if there are too many; otherwise `endRequest` must follow.
    ///
    /// - Parameter reads: Whether the request needs the calls of the journal.
    func beginRequest(of session: SHA256.Digest, reads: Bool) -> Bool {
        let (isAccepted, begins) = state.withLock { state -> (Bool, Bool) in
            guard state.requests < Self.maximumRequests,
                state.ofSession[session, default: 0] < Self.maximumRequestsOfSession
            else { return (false, false) }
            state.requests += 1
            state.ofSession[session, default: 0] += 1
            let begins = reads && !state.isReading
            if begins { (state.isReading, state.isFailing) = (true, false) }
            return (true, begins)
        }
        if begins { Task { if let feed = journal.feed { await read(feed) } else { await read() } } }
        return isAccepted
    }

    /// Ends a request.
    func endRequest(of session: SHA256.Digest) {
        state.withLock { state in
            state.requests -= 1
            state.ofSession[session] = state.ofSession[session].flatMap { $0 > 1 ? $0 - 1 : nil }
        }
    }

    /// Returns whether there may have been a call that matches after a position, and the position after all calls.
    func changes(after position: UInt64, matching filter: LiveFilter) -> (isChanged: Bool, position: UInt64) {
        state.withLock { $0.recent.changes(after: position, matching: filter) }
    }

    /// Reads the journal until no page asks any more.
    private func read() async {
        let follower = JournalFollower(directory: journal.directory)
        var position = JournalPosition(before: journal.followers.durableEnd)
        state.withLock { $0.recent.restart() }
        while goesOn() {
            try? await Task.sleep(for: Self.period)
            let end = journal.followers.durableEnd
            guard position.next < end else { continue }
            do {
                let (calls, next) = try await threads.runIfActive { [position] in
                    let excerpt = try follower.read(from: position, before: end, within: Self.bounds)
                    return (RecentCalls.calls(excerpt.lines), excerpt.position)
                }
                position = next
                state.withLock { $0.recent.add(calls) }
            } catch {
                logger.warning("Console cannot follow the journal", metadata: ["detail": "\(error)"])
                position = JournalPosition(before: end)
                state.withLock { $0.recent.restart() }
            }
        }
    }

    /// Reads the journals of all nodes until no page asks any more.
    private func read(_ feed: SharedJournalFeed) async {
        var tail: SharedTail?
        while goesOn() {
            do throws(HistoryUnavailable) {
                if let last = tail {
                    let found = try await feed.read(from: last, skipsOld: true)
                    tail = found.tail
                    let calls = RecentCalls.calls(found.lines.map(\.line))
                    state.withLock { $0.recent.add(calls) }
                } else {
                    tail = try await feed.end()
                    state.withLock { $0.recent.restart() }
                }
                fails(nil)
            } catch {
                fails(error)
            }
            try? await Task.sleep(for: Self.period)
        }
    }

    /// Records whether the journals of all nodes can be read. Pages that load their lists again say so.
    private func fails(_ error: HistoryUnavailable?) {
        let isNew = state.withLock { state in
            guard state.isFailing != (error != nil) else { return false }
            state.isFailing = error != nil
            state.recent.restart()
            return true
        }
        if isNew, let error {
            logger.warning("Console cannot follow the journal", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// Returns whether pages ask. Otherwise the next request begins to read again.
    private func goesOn() -> Bool {
        state.withLock { state in
            state.idlePeriods = state.requests > 0 ? 0 : state.idlePeriods + 1
            state.isReading = state.idlePeriods < Self.maximumIdlePeriods
            if !state.isReading { (state.idlePeriods, state.recent.batches) = (0, []) }
            return state.isReading
        }
    }
}

/// The calls of the last seconds.
struct RecentCalls: Sendable {
    /// A record of a call.
    struct Call: Sendable {
        let record: JSONValue
        /// Whether it is a rejection, which the list of refusals shows.
        let isRefusal: Bool
        /// Whether it is of a send, which the list of sends shows. A send has several records, and may be rejected.
        let isOfSend: Bool
    }

    /// The calls of one period.
    struct Batch: Sendable {
        /// The number of the batch.
        let number: UInt64
        let calls: [Call]
    }

    /// The maximum number of calls of a period. Of more, nobody asks which ones they are.
    static let maximumCalls = 50
    /// The maximum number of periods.
    static let maximumBatches = 20

    /// The latest batches, the newest last.
    fileprivate(set) var batches: [Batch] = []
    /// The number of the latest batch, or of the latest gap.
    private var number: UInt64 = 0
    /// The number up to which there may have been any call.
    private var gap: UInt64 = 0

    /// Begins anew: there may have been any call until now.
    mutating func restart() {
        number += 1
        gap = number
        batches = []
    }

    /// Adds the calls of a period; nil if there were too many to look at.
    mutating func add(_ calls: [Call]?) {
        guard let calls else { return restart() }
        guard !calls.isEmpty else { return }
        number += 1
        batches.append(Batch(number: number, calls: calls))
        if batches.count > Self.maximumBatches { gap = batches.removeFirst().number }
    }

    /// Returns whether there may have been a call that matches after a position, and the position after all calls.
    func changes(after position: UInt64, matching filter: LiveFilter) -> (isChanged: Bool, position: UInt64) {
        let isChanged = batches.contains { $0.number > position && $0.calls.contains(where: filter.matches) }
        // A position of another process is no position of this one.
        return (filter.needsCalls && (isChanged || position < gap || position > number), number)
    }

    /// Returns the calls of journal lines; nil if there are too many to look at.
    static func calls(_ lines: [UInt8]) -> [Call]? {
        calls(lines.split(separator: UInt8(ascii: "\n")).lazy.map { AuditLine(Array($0)) })
    }

    /// Returns the calls of lines; nil if there are too many to look at.
    static func calls(_ lines: some Sequence<AuditLine>) -> [Call]? {
        var calls: [Call] = []
        // Under load there are thousands of lines, of which only the first are parsed.
        for line in lines {
            guard let record = try? JSONParser(memberLimit: 4096).parse(line.bytes.span) else { continue }
            let call = Call(
                record: record, isRefusal: record["kind"]?.string == JournalRecord.Kind.rejection.rawValue,
                isOfSend: record["action"]?.string == Action.send.rawValue)
            guard call.isRefusal || call.isOfSend else { continue }
            guard calls.count < maximumCalls else { return nil }
            calls.append(call)
        }
        return calls
    }
}
