internal import GatewayCore
internal import Logging
internal import Synchronization

/// The log's lines on refused calls, coalesced: the first of a kind at once, of the others their number every ten seconds, and no more
/// than 100 lines in ten seconds.
///
/// A line for each call would let anybody fill the disk, and would cost more than the refusal when there is least to spare. At the
/// level `debug` each call has a line of its own all the same. Shared by all loops; a refusal costs one short critical section.
final class RefusalLog: Sendable {
    /// Refusals that count together: by code and detail, and those that are a caller's fault by caller too.
    private struct Kind: Hashable {
        let code: RefusalCode
        let detail: String
        let user: UserName?
        let address: Peer.Address?

        init(_ refusal: Refusal) {
            code = refusal.code
            detail = refusal.detail
            let isCallers = refusal.side == .caller
            user = isCallers ? refusal.facts?.user : nil
            address = isCallers && user == nil ? refusal.facts?.peer.limitKey : nil
        }
    }

    /// One line but for its count. Its text is made where it is written: most are not.
    private struct Line {
        let refusal: Refusal
        let call: CallID

        // A caller's fault is everyday; the gateway's own is what somebody must see.
        var level: Logger.Level { refusal.side == .caller ? .info : .warning }

        var metadata: Logger.Metadata {
            [
                "call": "\(call)",
                "code": "\(refusal.code.rawValue)",
                "detail": "\(refusal.detail)",
                "peer": "\(refusal.facts.map(\.peer.text) ?? "-")",
                "user": "\(refusal.facts.flatMap(\.user).map(\.text) ?? "-")",
                // Where a peer began the trace it has another id than the call.
                "trace": "\(refusal.facts?.trace?.id ?? call.text)",
            ]
        }
    }

    private typealias Lines = Coalescer<Kind, Line>
    private static let period: Int64 = 10_000_000_000
    /// How many lines are written in ten seconds, the one of the rest not counted.
    static let most = 100

    private let lines = Mutex(Lines(.init(period: period, most: most, window: period)))
    private let clocks: Clocks

    init(clocks: Clocks) { self.clocks = clocks }

    /// Takes the refusal of a call.
    func note(_ refusal: Refusal, of call: CallID, _ logger: Logger) {
        let line = Line(refusal: refusal, call: call)
        guard logger.logLevel <= line.level else { return }
        if logger.logLevel <= .debug { return write([.kind(line, count: 1)], logger) }
        let now = clocks.monotonic()
        write(lines.withLock { $0.add(line, of: Kind(refusal), now: now) }, logger)
    }

    /// Writes what is due; everything where there will be no later.
    func settle(all: Bool, _ logger: Logger) {
        let now = clocks.monotonic()
        write(lines.withLock { $0.settle(now: now, all: all) }, logger)
    }

    private func write(_ entries: [Lines.Entry], _ logger: Logger) {
        for entry in entries {
            switch entry {
            case .kind(let line, count: 1):
                logger.log(level: line.level, "A call was refused", metadata: line.metadata)
            case .kind(let line, let count):
                let counted = line.metadata.merging(["count": "\(count)"]) { $1 }
                logger.log(level: line.level, "More calls were refused", metadata: counted)
            case .rest(let count):
                logger.warning("More calls were refused", metadata: ["code": "several", "count": "\(count)"])
            }
        }
    }
}
