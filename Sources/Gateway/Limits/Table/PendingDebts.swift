/// The debts that were added to limit keys since they were last shared, in a bounded number of entries.
///
/// An addition costs about as much as a look-up in the table, and seldom the growth of a small segment. If the segment
/// of a key is full, what the key adds until the next exchange stays with this node.
struct PendingDebts: Sendable {
    private static let segmentCount = 64
    private static let segmentCapacity = 1024

    private var segments: [LimitSegment]

    /// Creates an empty value.
    ///
    /// - Parameter counts: The expected number of keys in each segment, so that charges seldom have to grow one.
    init(expecting counts: [Int] = []) {
        segments = (0..<Self.segmentCount).map { LimitSegment(expecting: counts.indices.contains($0) ? counts[$0] : 0) }
    }

    /// The number of keys in each segment.
    var counts: [Int] { segments.map(\.count) }

    /// The number of keys. For tests of the bound.
    var count: Int { segments.reduce(0) { $0 + $1.count } }

    /// Adds a debt in nanoseconds, negative for a refund.
    mutating func add(_ debt: Int64, for key: LimitKey, at position: UInt64) {
        segments[Self.segment(of: position)].add(debt, for: key, at: position, capacity: Self.segmentCapacity)
    }

    /// Returns the debt of a key; 0 if there is none.
    func debt(of key: LimitKey, at position: UInt64) -> Int64 {
        segments[Self.segment(of: position)].theoreticalArrival(of: key, at: position) ?? 0
    }

    /// Removes the matching keys.
    mutating func remove(_ isPicked: (LimitKey) -> Bool) {
        for index in segments.indices { _ = segments[index].keep { !isPicked($0.key) } }
    }

    /// All keys with their debts.
    var all: [(key: LimitKey, debt: Int64)] {
        segments.flatMap { segment in segment.used.map { ($0.key, $0.theoreticalArrival) } }
    }

    private static func segment(of position: UInt64) -> Int {
        // Other bits than those that select the entry within the segment.
        Int(truncatingIfNeeded: position >> 48) & (segmentCount - 1)
    }
}

extension Int64 {
    /// Returns the sum of two debts, within the bounds of `GCRA`.
    func addingDebt(_ other: Int64) -> Int64 {
        let bound = Int64.max / 4
        let (sum, overflow) = addingReportingOverflow(other)
        if overflow { return other > 0 ? bound : -bound }
        return Swift.max(-bound, Swift.min(sum, bound))
    }
}
