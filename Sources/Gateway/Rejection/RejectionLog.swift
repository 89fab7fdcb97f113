internal import GatewayCore
internal import GatewaySupport
internal import Logging
internal import Synchronization

/// The log of rejected calls, coalesced: the first of a kind at once, then one line every ten seconds with the number
/// of further ones. At most 100 lines are written in ten seconds, and one summary line.
///
/// One line for each call could fill the disk, and would cost more than the rejection itself under overload. At the
/// level `debug` each call has its own line nevertheless. Shared by all event loops; a rejection costs one short
/// critical section.
final class RejectionLog: Sendable {
    /// The properties of rejections that share one line: code and detail, and also the caller if the caller is at
    /// fault.
    private struct Kind: OwnedKey {
        typealias Owner = SoleOwner

        let code: RejectionCode
        let detail: String
        let user: UserName?
        let address: Peer.Address?

        init(_ rejection: Rejection) {
            code = rejection.code
            detail = rejection.detail
            let isCallers = rejection.side == .caller
            user = isCallers ? rejection.facts?.user : nil
            address = isCallers ? rejection.facts?.peer.limitKey : nil
        }
    }

    /// One line without its count. Its text is built only when it is written; most lines never are.
    private struct Line: CoalescedEvent {
        let rejection: Rejection
        let call: CallID
        /// Nil if there is none, or if the line stands for calls of several.
        var user: UserName?
        var attempted: PresentedName?
        var peer: Peer?

        init(_ rejection: Rejection, of call: CallID) {
            self.rejection = rejection
            self.call = call
            user = rejection.facts?.user
            attempted = rejection.facts?.attempted
            peer = rejection.facts?.peer
        }

        mutating func merge(_ later: Line) {
            var merged = later
            if user != later.user { merged.user = nil }
            if attempted != later.attempted { merged.attempted = nil }
            if peer?.limitKey != later.peer?.limitKey { merged.peer = nil }
            self = merged
        }

        // Errors of callers are frequent; errors of the gateway or the backend need attention.
        var level: Logger.Level { rejection.side == .caller ? .info : .warning }

        var metadata: Logger.Metadata {
            var metadata: Logger.Metadata = [
                "call": "\(call)",
                "code": "\(rejection.code.rawValue)",
                "detail": "\(rejection.detail)",
                "peer": "\(peer.map(\.text) ?? "-")",
                "user": "\(user.map(\.text) ?? "-")",
                // A trace that a peer started has a different id from the call's.
                "trace": "\(rejection.facts?.trace?.id ?? call.text)",
            ]
            if user == nil, let attempted {
                metadata["attempted"] = "\(FailedLoginRecorder.sanitized(attempted.text))"
            }
            return metadata
        }
    }

    private typealias Lines = Coalescer<Kind, Line>
    private static let period: Int64 = 10_000_000_000
    /// The maximum number of lines in ten seconds, excluding the summary line.
    static let maximumLines = 100

    private let lines = Mutex(Lines(.init(period: period, maximum: maximumLines, window: period)))
    private let clocks: Clocks

    init(clocks: Clocks) { self.clocks = clocks }

    /// Adds a rejected call.
    func record(_ rejection: Rejection, of call: CallID, _ logger: Logger) {
        let line = Line(rejection, of: call)
        guard logger.logLevel <= line.level else { return }
        if logger.logLevel <= .debug { return write(line, logger) }
        let now = clocks.monotonic()
        write(lines.withLock { $0.add(line, of: Kind(rejection), now: now) }, logger)
    }

    /// Writes the lines that are due, or every pending line if `all` is true (at shutdown).
    func flush(all: Bool, _ logger: Logger) {
        let now = clocks.monotonic()
        write(lines.withLock { $0.flush(now: now, all: all) }, logger)
    }

    private func write(_ entries: [Lines.Entry], _ logger: Logger) {
        for entry in entries {
            switch entry {
            case .kind(_, let line, count: 1): write(line, logger)
            case .kind(_, let line, let count):
                let counted = line.metadata.merging(["count": "\(count)"]) { $1 }
                logger.log(level: line.level, "Further calls were rejected", metadata: counted)
            case .rest(let count):
                logger.warning("Further calls were rejected", metadata: ["code": "several", "count": "\(count)"])
            }
        }
    }

    private func write(_ line: Line, _ logger: Logger) {
        logger.log(level: line.level, "Call rejected", metadata: line.metadata)
    }
}
