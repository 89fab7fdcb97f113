internal import GatewayCore

/// The state of all limits: theoretical arrival times by key, in a bounded number of entries.
///
/// A key with a debt (see `GCRA`) keeps its entry, even if the table is full. Calls that use the table remove keys
/// without debt in small steps, one segment at a time. If all entries hold a debt, a new key counts in one of 64
/// entries that the new keys of its limit share. When the key gets an entry of its own, the debt of the shared entry is
/// copied to it. Filling the table therefore clears no debt. Its only effect is that new keys slow each other down
/// until other debts have expired.
///
/// `ThrottleTable`, the table of failed logins, describes why it is another type.
struct LimitTable {
    /// The number of entries that the new keys of one limit share in a full table.
    static let sharedSlots: UInt64 = 64
    private static let segmentSize = 256
    private static let maximumSegments = 4096

    private struct SharedSlot: Hashable {
        let limit: UInt16
        let number: UInt64
    }

    /// The number of keys with an entry of their own.
    private(set) var count = 0
    private let capacity: Int
    private var segments: [LimitSegment]
    private var shared: [SharedSlot: Int64] = [:]
    /// The maximum debt of a key, by the number of the limit; 0 for limits that are not in use.
    private var maximumDebts: [Int64] = [0]
    /// The debts to share with other nodes; nil without a shared store.
    var pending: PendingDebts?
    /// The factor by which charges count: more than 1 while this node is cut off from others.
    var weight = 1
    private var cursor = 0
    private var nextSweep: Int64
    private let sweepInterval: Int64

    /// Creates a table of at most `capacity` entries. While there are calls, the whole table is swept about once a
    /// minute.
    init(capacity: Int, now: Int64) {
        self.capacity = max(1, capacity)
        var segments = 1
        while segments < Self.maximumSegments, segments * Self.segmentSize < capacity { segments *= 2 }
        self.segments = Array(repeating: LimitSegment(), count: segments)
        sweepInterval = 60_000_000_000 / Int64(segments)
        nextSweep = now + sweepInterval
    }

    /// Sets the maximum debt of a limit's keys; 0 takes the limit out of use, and its keys are removed.
    mutating func use(_ limit: UInt16, maximumDebt: Int64) {
        while maximumDebts.count <= Int(limit) { maximumDebts.append(0) }
        maximumDebts[Int(limit)] = maximumDebt
    }

    /// Returns the theoretical arrival time of the entry that the key counts in.
    func theoreticalArrival(of key: LimitKey) -> Int64? {
        let position = key.position
        if let theoreticalArrival = segments[segment(of: position)].theoreticalArrival(of: key, at: position) {
            return theoreticalArrival
        }
        return shared.isEmpty ? nil : shared[sharedSlot(of: key, at: position)]
    }

    /// Writes the theoretical arrival time of a key: in its own entry, in a new one, or in a shared one if the
    /// table is full.
    mutating func set(_ theoreticalArrival: Int64, for key: LimitKey, now: Int64) {
        let position = key.position
        let segment = segment(of: position)
        if segments[segment].replace(theoreticalArrival, for: key, at: position) { return }
        if count >= capacity {
            sweep(segment, now: now)
            if count >= capacity { sweepNext(now: now) }
        }
        if count < capacity {
            segments[segment].insert(theoreticalArrival, for: key, at: position)
            count += 1
        } else {
            shared[sharedSlot(of: key, at: position)] = theoreticalArrival
        }
    }

    /// Writes the time of a key that has an entry of its own or gets one. Does nothing in a full table.
    mutating func setOwn(_ theoreticalArrival: Int64, for key: LimitKey, isNewAllowed: Bool) {
        let position = key.position
        let segment = segment(of: position)
        if segments[segment].replace(theoreticalArrival, for: key, at: position) { return }
        guard isNewAllowed, count < capacity else { return }
        segments[segment].insert(theoreticalArrival, for: key, at: position)
        count += 1
    }

    /// Returns the maximum debt of a limit's keys; 0 for a limit that is not in use.
    func maximumDebt(of limit: UInt16) -> Int64 {
        maximumDebts.indices.contains(Int(limit)) ? maximumDebts[Int(limit)] : 0
    }

    /// Sweeps one segment if it is time. Called for each charge.
    mutating func sweepIfDue(now: Int64) {
        // A clock that was set back must not stop the sweeping.
        guard now >= nextSweep || now < nextSweep - sweepInterval else { return }
        nextSweep = now + sweepInterval
        sweepNext(now: now)
    }

    /// The number of segments.
    var segmentCount: Int { segments.count }

    /// Removes the matching keys of one segment with their debt. Returns the number of removed keys with a debt.
    mutating func remove(inSegment segment: Int, now: Int64, _ isPicked: (LimitKey) -> Bool) -> Int {
        var owing = 0
        count -= segments[segment].keep { slot in
            guard isPicked(slot.key) else { return true }
            if slot.theoreticalArrival > now { owing += 1 }
            return false
        }
        return owing
    }

    /// Clears the shared entries of one limit, or of all limits.
    mutating func removeShared(of limit: UInt16?) {
        if let limit { shared = shared.filter { $0.key.limit != limit } } else { shared = [:] }
    }

    private mutating func sweepNext(now: Int64) {
        sweep(cursor, now: now)
        cursor = (cursor + 1) % segments.count
        guard cursor == 0, !shared.isEmpty else { return }
        shared = shared.filter { $0.value > now && maximumDebts[Int($0.key.limit)] > 0 }
    }

    private mutating func sweep(_ segment: Int, now: Int64) {
        let maximumDebts = maximumDebts
        count -= segments[segment].keep { slot in
            let maximumDebt = maximumDebts[Int(slot.key.limit)]
            // Corrects times beyond the maximum debt, which result from a clock that was set back or from a tighter
            // limit.
            if slot.theoreticalArrival > now, slot.theoreticalArrival - now > maximumDebt {
                slot.theoreticalArrival = now + maximumDebt
            }
            return maximumDebt > 0 && slot.theoreticalArrival > now
        }
    }

    private func segment(of position: UInt64) -> Int {
        // The upper bits select the segment; the lower bits select the entry within it.
        Int(truncatingIfNeeded: position >> 48) & (segments.count - 1)
    }

    private func sharedSlot(of key: LimitKey, at position: UInt64) -> SharedSlot {
        SharedSlot(limit: key.limit, number: (position >> 32) % Self.sharedSlots)
    }
}
