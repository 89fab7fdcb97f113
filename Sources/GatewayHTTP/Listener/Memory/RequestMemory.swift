public import GatewayCore
internal import Synchronization

/// The memory that clients hold by requests that are not complete, and by answers that they do not take: bounded for all connections
/// together, since none of it needs a login. Used from any loop.
///
/// Each connection may hold a fixed part of what it leaves free: a 256th, or a 16th for a listed proxy. So what is left shrinks the
/// slower the less there is, and one connection cannot take it from the others. Where clients hold all that they may, one after the
/// other, of 64 MiB the first may hold 255 KiB, the thousandth 5 KiB, and exactly the first 1,066 may hold 4 KiB or more. Where others
/// hold less, more may. A request that arrives whole is not counted, so that a client that sends one usual request is served however
/// many hold all that they may.
public final class RequestMemory: Sendable {
    /// What a connection may hold: the bytes that are free beside what it holds then, divided by this.
    enum Share: Int {
        /// A client of one's own.
        case client = 256
        /// A listed proxy, whose connection carries the requests of many.
        case proxy = 16
    }

    /// Whether a connection may hold so much.
    enum Admission: Equatable {
        case granted
        /// It is more than one connection may ever hold.
        case tooMuch
        /// It is more than there is at the moment.
        case exhausted
    }

    /// Requests that were refused, and connections that were closed, for want of memory.
    public let refused = Counter()
    /// Bytes in all.
    public let limit: Int
    /// Bytes that are held.
    public var bytes: Int { total.load(ordering: .relaxed) }

    private let total = Atomic(0)
    private let peak = Atomic(0)
    private let trimmer: HeapTrimmer
    /// When that much has become free, it is returned to the system.
    private static let worthTrimming = 8 << 20

    /// Nothing is held.
    public convenience init(limit: Int = ListenerConfiguration.Connections().requestMemory) {
        self.init(limit: limit, trimmer: HeapTrimmer())
    }

    init(limit: Int, trimmer: HeapTrimmer) {
        self.limit = limit
        self.trimmer = trimmer
    }

    /// What one connection holds. Loop-bound: its connection gives everything back at its end, by `set(0)`.
    struct Account {
        private let memory: RequestMemory
        private let part: Share
        private(set) var bytes = 0

        init(of memory: RequestMemory, part: Share) {
            self.memory = memory
            self.part = part
        }

        /// Replaces what the connection holds. Less is always granted; more than it may hold is not counted.
        mutating func set(_ wanted: Int) -> Admission {
            if wanted == bytes { return .granted }
            let verdict = memory.change(from: bytes, to: wanted, part: part)
            if verdict == .granted { bytes = wanted } else { memory.refused.add() }
            return verdict
        }
    }

    private func change(from old: Int, to new: Int, part: Share) -> Admission {
        let change = new - old
        let all = total.add(change, ordering: .relaxed).newValue
        if change < 0 {
            if peak.load(ordering: .relaxed) - all >= Self.worthTrimming {
                peak.store(all, ordering: .relaxed)
                trimmer.schedule()
            }
            return .granted
        }
        guard new <= (limit - all) / part.rawValue else {
            total.subtract(change, ordering: .relaxed)
            return new > limit / part.rawValue ? .tooMuch : .exhausted
        }
        // Two loops may each put down their own: the difference is too small to matter.
        if all > peak.load(ordering: .relaxed) { peak.store(all, ordering: .relaxed) }
        return .granted
    }
}

extension RequestMemory.Admission {
    /// What a client is told of it; nil where it is granted.
    var fault: FramingError? {
        switch self {
        case .granted: nil
        case .tooMuch:
            FramingError(code: .headersTooLarge, detail: "the incomplete requests of the connection are too large")
        case .exhausted:
            FramingError(code: .overloaded, detail: "incomplete requests hold the memory that there is for them")
        }
    }
}
