internal import GatewayCore
public import GatewaySupport
internal import Synchronization

/// The memory limit for incomplete requests and unread responses of all connections. It is shared because clients can
/// use this memory without a login. Any loop may use it.
///
/// A connection may hold at most a 256th of the memory that is free afterwards, or a 16th if its peer is a trusted
/// proxy. The free memory therefore shrinks ever more slowly, and no number of connections exhausts it. For example,
/// the limit is 64 MiB and every connection holds its maximum. The first connection then holds 255 KiB, the thousandth
/// holds 5 KiB, and the first 1,066 hold 4 KiB or more.
///
/// A request that arrives in one piece is not counted. A client with such a request is therefore served even if other
/// connections hold their maximum.
public final class RequestMemory: Sendable {
    /// The share of one connection, as the divisor of the free memory.
    enum Share: Int {
        /// A connection of one client.
        case client = 256
        /// A connection of a trusted proxy, which carries the requests of many clients.
        case proxy = 16
    }

    /// The result of a request for memory.
    enum Admission: Equatable {
        case granted
        /// The amount is more than one connection may ever hold.
        case tooMuch
        /// The amount is more than the connection may hold at the moment.
        case exhausted
    }

    /// The number of requests rejected and connections closed for lack of memory.
    public let refused = Counter()
    /// The total memory in bytes.
    public let limit: Int
    /// The memory in use, in bytes.
    public var bytes: Int { total.load(ordering: .relaxed) }

    private let total = Atomic(0)
    private let peak = Atomic(0)
    private let trimmer: HeapTrimmer
    /// The decrease since the last peak, in bytes, after which the heap is trimmed.
    private static let trimThreshold = 8 << 20

    /// Creates a limit with no memory in use.
    public convenience init(limit: Int = ListenerConfiguration.Connections().requestMemory) {
        self.init(limit: limit, trimmer: HeapTrimmer())
    }

    init(limit: Int, trimmer: HeapTrimmer) {
        self.limit = limit
        self.trimmer = trimmer
    }

    /// The memory of one connection. Loop-bound. At its end the connection releases everything with `set(0)`.
    struct Account {
        private let memory: RequestMemory
        private let share: Share
        private(set) var bytes = 0

        init(of memory: RequestMemory, part share: Share) {
            self.memory = memory
            self.share = share
        }

        /// Replaces the amount that the connection holds, in bytes. A decrease is always granted. An increase that is
        /// not granted changes nothing.
        mutating func set(_ wanted: Int) -> Admission {
            if wanted == bytes { return .granted }
            let admission = memory.change(from: bytes, to: wanted, share: share)
            if admission == .granted { bytes = wanted } else { memory.refused.add() }
            return admission
        }
    }

    private func change(from old: Int, to new: Int, share: Share) -> Admission {
        let change = new - old
        let all = total.add(change, ordering: .relaxed).newValue
        if change < 0 {
            if peak.load(ordering: .relaxed) - all >= Self.trimThreshold {
                peak.store(all, ordering: .relaxed)
                trimmer.schedule()
            }
            return .granted
        }
        guard new <= (limit - all) / share.rawValue else {
            total.subtract(change, ordering: .relaxed)
            return new > limit / share.rawValue ? .tooMuch : .exhausted
        }
        // Two loops may both store a value here. The resulting error is too small to matter.
        if all > peak.load(ordering: .relaxed) { peak.store(all, ordering: .relaxed) }
        return .granted
    }
}

extension RequestMemory.Admission {
    /// The fault for the client; nil if the memory is granted.
    var fault: FramingError? {
        switch self {
        case .granted: nil
        case .tooMuch:
            FramingError(code: .headersTooLarge, detail: "the incomplete requests of the connection are too large")
        case .exhausted:
            FramingError(code: .overloaded, detail: "incomplete requests hold all memory that is reserved for them")
        }
    }
}
