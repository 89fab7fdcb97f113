internal import GatewayCore
internal import Synchronization

/// The memory limit for incomplete requests and unread responses of all connections. It is shared because clients can
/// use this memory without a login. Any loop may use it.
///
/// Each request for memory is compared with the memory that would stay free if it were granted. A connection may hold
/// at most a 256th of that, or a 16th if its peer is a trusted proxy. The connections of one address together may hold
/// at most a 16th of it, so that a few addresses cannot take the memory from all others. The free memory shrinks ever
/// more slowly, and no number of connections exhausts it. For example, with a limit of 64 MiB of which every connection
/// holds its maximum, the first connection holds 255 KiB, the thousandth holds 5 KiB, and the first 1,066 hold 4 KiB or
/// more.
///
/// A request that arrives in one piece is not counted. A client with such a request is therefore served even if other
/// connections hold their maximum.
public final class RequestMemory: Sendable {
    /// The share of one connection, as the divisor of the free memory.
    enum Share: Int {
        /// A connection of one client.
        case client = 256
        /// A connection of one client whose received bytes are not all processed yet.
        case burst = 64
        /// A connection of a trusted proxy, which carries the requests of many clients. Also the responses that one client
        /// has not read: a hundred that arrive at once must fit, and they need the share of its address at most.
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

    /// The requests that were rejected, and the responses and connections that were ended, for lack of memory.
    public let refused = ExceededLimit()
    /// The total memory in bytes.
    public let limit: Int
    /// The memory in use, in bytes.
    public var bytes: Int { total.load(ordering: .relaxed) }

    /// The share of one address, as the divisor of the free memory.
    static let addressDivisor = 16

    private let total = Atomic(0)
    private let addresses = Mutex<[Peer.Address: AddressTotal]>([:])
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

    /// The memory of the connections of one address. Any loop may use it.
    private final class AddressTotal: Sendable {
        let bytes = Atomic(0)
        /// The number of accounts, which only the owner of the table's lock changes.
        let accounts = Atomic(0)
    }

    /// The memory of one connection. Loop-bound. At its end the connection releases everything with `close()`.
    struct Account {
        private let memory: RequestMemory
        private let share: Share
        private let address: Peer.Address?
        private let peer: String
        /// The total of the address; nil before the connection has held memory.
        private var addressTotal: AddressTotal?
        private(set) var bytes = 0
        private var wasBurst = false

        /// - Parameters:
        ///   - address: The address that the connection counts for; nil if it is exempt from the share of an address.
        ///   - peer: The address of the client as text, for the log.
        init(of memory: RequestMemory, part share: Share, address: Peer.Address? = nil, peer: String = "-") {
            self.memory = memory
            self.share = share
            self.address = address
            self.peer = peer
        }

        /// Replaces the amount that the connection holds, in bytes. An amount that is not granted changes nothing. A
        /// decrease is always granted, except after a burst: the amount must then fit in the smaller share.
        ///
        /// - Parameter isBurst: Whether the connection has received more bytes that are not processed yet. Its share is
        ///   then at least that of a burst, because the bytes may complete its requests.
        mutating func set(_ wanted: Int, isBurst: Bool = false) -> Admission {
            let isAfterBurst = wasBurst && !isBurst
            if wanted == bytes, !isAfterBurst { return .granted }
            let divisor = min(share.rawValue, isBurst ? Share.burst.rawValue : .max)
            let mustFit = wanted > bytes || isAfterBurst
            // The only lock, once for each connection that holds memory.
            if addressTotal == nil, let address { addressTotal = memory.acquire(address) }
            let admission = memory.change(from: bytes, to: wanted, atMost: mustFit ? divisor : nil, of: addressTotal)
            guard admission == .granted else {
                memory.refused.record(peer)
                return admission
            }
            (bytes, wasBurst) = (wanted, isBurst)
            return admission
        }

        /// Releases everything.
        mutating func close() {
            _ = set(0)
            if addressTotal != nil, let address { memory.release(address) }
            addressTotal = nil
        }
    }

    /// The number of addresses whose connections hold memory or have held some.
    var addressCount: Int { addresses.withLock { $0.count } }

    private func acquire(_ address: Peer.Address) -> AddressTotal {
        addresses.withLock { addresses in
            let total = addresses[address] ?? AddressTotal()
            addresses[address] = total
            total.accounts.add(1, ordering: .relaxed)
            return total
        }
    }

    private func release(_ address: Peer.Address) {
        addresses.withLock { addresses in
            if addresses[address]?.accounts.subtract(1, ordering: .relaxed).newValue == 0 { addresses[address] = nil }
        }
    }

    /// - Parameters:
    ///   - divisor: The share of the free memory that the new amount must fit in; nil grants it in any case.
    ///   - address: The total of the connection's address; nil if the connection is exempt.
    private func change(
        from old: Int, to new: Int, atMost divisor: Int?, of address: AddressTotal?
    ) -> Admission {
        let change = new - old
        let all = total.add(change, ordering: .relaxed).newValue
        let ofAddress = address?.bytes.add(change, ordering: .relaxed).newValue ?? 0
        let free = limit - all
        if let divisor, new > 0, new > free / divisor || ofAddress > free / Self.addressDivisor {
            total.subtract(change, ordering: .relaxed)
            address?.bytes.subtract(change, ordering: .relaxed)
            return new > limit / divisor ? .tooMuch : .exhausted
        }
        // Two loops may both store a peak here. The resulting error is too small to matter.
        let highest = peak.load(ordering: .relaxed)
        if highest - all >= Self.trimThreshold, change < 0 {
            peak.store(all, ordering: .relaxed)
            trimmer.schedule()
        } else if all > highest {
            peak.store(all, ordering: .relaxed)
        }
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
