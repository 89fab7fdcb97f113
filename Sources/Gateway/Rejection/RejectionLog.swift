internal import GatewayCore
internal import Logging
internal import Synchronization

/// Logs rejected calls, coalesced: the first of a kind at once, then a line with the number of the others every ten
/// seconds. At most 100 lines are written in ten seconds.
///
/// One line for each call could fill the disk, and would cost more than the rejection itself under overload. At the
/// level `debug` each call has its own line nevertheless. Shared by all event loops; a rejection costs one short
/// critical section.
final class RejectionLog: Sendable {
    /// A kind of rejections that are counted together: by code and detail, and if the caller is at fault also by
    /// caller.
    private struct Kind: Hashable {
        let code: RejectionCode
        let detail: String
        let user: UserName?
        let address: Peer.Address?

        init(_ rejection: Rejection) {
            code = rejection.code
            detail = rejection.detail
            let isCallers = rejection.side == .caller
            user = isCallers ? rejection.facts?.user : nil
            address = isCallers && user == nil ? rejection.facts?.peer.limitKey : nil
        }
    }

    /// One line without its count. Its text is built only if it is written, which most are not.
    private struct Line {
        let rejection: Rejection
        let call: CallID

        // Errors of callers are frequent; errors of the gateway or the backend need attention.
        var level: Logger.Level { rejection.side == .caller ? .info : .warning }

        var metadata: Logger.Metadata {
            [
                "call": "\(call)",
                "code": "\(rejection.code.rawValue)",
                "detail": "\(rejection.detail)",
                "peer": "\(rejection.facts.map(\.peer.text) ?? "-")",
                "user": "\(rejection.facts.flatMap(\.user).map(\.text) ?? "-")",
                // A trace that a peer started has another id than the call.
                "trace": "\(rejection.facts?.trace?.id ?? call.text)",
            ]
        }
    }

    private typealias Lines = Coalescer<Kind, Line>
    private static let period: Int64 = 10_000_000_000
    /// The maximum number of lines in ten seconds, without the one of the rest.
    static let most = 100

    private let lines = Mutex(Lines(.init(period: period, most: most, window: period)))
    private let clocks: Clocks

    init(clocks: Clocks) { self.clocks = clocks }

    /// Adds a rejected call.
    func note(_ rejection: Rejection, of call: CallID, _ logger: Logger) {
        let line = Line(rejection: rejection, call: call)
        guard logger.logLevel <= line.level else { return }
        if logger.logLevel <= .debug { return write([.kind(line, count: 1)], logger) }
        let now = clocks.monotonic()
        write(lines.withLock { $0.add(line, of: Kind(rejection), now: now) }, logger)
    }

    /// Writes the lines that are due; all of them if this is the last call.
    func flush(all: Bool, _ logger: Logger) {
        let now = clocks.monotonic()
        write(lines.withLock { $0.flush(now: now, all: all) }, logger)
    }

    private func write(_ entries: [Lines.Entry], _ logger: Logger) {
        for entry in entries {
            switch entry {
            case .kind(let line, count: 1):
                logger.log(level: line.level, "Call rejected", metadata: line.metadata)
            case .kind(let line, let count):
                let counted = line.metadata.merging(["count": "\(count)"]) { $1 }
                logger.log(level: line.level, "Further calls were rejected", metadata: counted)
            case .rest(let count):
                logger.warning("Further calls were rejected", metadata: ["code": "several", "count": "\(count)"])
            }
        }
    }
}
