internal import GatewayCore

/// The limiter's memory: theoretical arrival times by key, in a bounded number of places.
///
/// A key keeps its place for as long as it owes anything, whoever else wants it. Those that owe nothing are forgotten in small
/// steps: a segment of the table at a time, by calls that come anyway. Where all places are taken by keys that owe, a newcomer
/// counts in one of 64 places that the newcomers of its limit share, and what is owed there it owes when it gets a place of its
/// own. So nobody gains by a table that somebody has filled, neither who has spent a limit nor who comes later; what
/// newcomers lose is that they slow each other down until others' debts have passed.
struct LimitTable {
    /// How many places the newcomers of a limit share where the table is full.
    static let sharedPlaces: UInt64 = 64
    private static let segmentSize = 256
    private static let mostSegments = 4096

    private struct SharedPlace: Hashable {
        let limit: UInt16
        let number: UInt64
    }

    /// How many keys have a place of their own.
    private(set) var count = 0
    private let capacity: Int
    private var segments: [LimitSegment]
    private var shared: [SharedPlace: Int64] = [:]
    /// By number of a limit: the most that a key can owe, 0 for limits that are not in use.
    private var memories: [Int64] = [0]
    private var cursor = 0
    private var sweepsAt: Int64
    private let sweepInterval: Int64

    /// A table of at most `capacity` places. All is swept about once a minute while there are calls.
    init(capacity: Int, now: Int64) {
        self.capacity = max(1, capacity)
        var segments = 1
        while segments < Self.mostSegments, segments * Self.segmentSize < capacity { segments *= 2 }
        self.segments = Array(repeating: LimitSegment(), count: segments)
        sweepInterval = 60_000_000_000 / Int64(segments)
        sweepsAt = now + sweepInterval
    }

    /// Says how much a key of a limit can owe; 0 puts the limit out of use, and its keys are forgotten.
    mutating func use(_ limit: UInt16, memory: Int64) {
        while memories.count <= Int(limit) { memories.append(0) }
        memories[Int(limit)] = memory
    }

    /// The theoretical arrival time that a charge would find.
    func arrival(of key: LimitKey) -> Int64? {
        let position = key.position
        if let arrival = segments[segment(of: position)].arrival(of: key, at: position) { return arrival }
        return shared.isEmpty ? nil : shared[sharedPlace(of: key, at: position)]
    }

    /// Writes the time of a key: in its own place, in a new one, or where there is none in a shared one.
    mutating func set(_ arrival: Int64, for key: LimitKey, now: Int64) {
        let position = key.position
        let segment = segment(of: position)
        if segments[segment].replace(arrival, for: key, at: position) { return }
        if count >= capacity {
            sweep(segment, now: now)
            if count >= capacity { sweepNext(now: now) }
        }
        if count < capacity {
            segments[segment].insert(arrival, for: key, at: position)
            count += 1
        } else {
            shared[sharedPlace(of: key, at: position)] = arrival
        }
    }

    /// The small step that each call makes, if it is time.
    mutating func sweepIfDue(now: Int64) {
        // A clock that was set back must not end the sweeping.
        guard now >= sweepsAt || now < sweepsAt - sweepInterval else { return }
        sweepsAt = now + sweepInterval
        sweepNext(now: now)
    }

    /// How many segments there are.
    var segmentCount: Int { segments.count }

    /// Forgets the keys of one segment that the closure picks, whatever they owe; returns how many owed anything.
    mutating func forget(inSegment segment: Int, now: Int64, _ isPicked: (LimitKey) -> Bool) -> Int {
        var owing = 0
        count -= segments[segment].keep { place in
            guard isPicked(place.key) else { return true }
            if place.arrival > now { owing += 1 }
            return false
        }
        return owing
    }

    /// Forgets what newcomers of a limit have run up together, or those of all limits.
    mutating func forgetShared(of limit: UInt16?) {
        if let limit { shared = shared.filter { $0.key.limit != limit } } else { shared = [:] }
    }

    private mutating func sweepNext(now: Int64) {
        sweep(cursor, now: now)
        cursor = (cursor + 1) % segments.count
        guard cursor == 0, !shared.isEmpty else { return }
        shared = shared.filter { $0.value > now && memories[Int($0.key.limit)] > 0 }
    }

    private mutating func sweep(_ segment: Int, now: Int64) {
        let memories = memories
        count -= segments[segment].keep { place in
            let memory = memories[Int(place.key.limit)]
            // A clock that was set back, or a limit that was made narrower, leaves times that no key can owe.
            if place.arrival > now, place.arrival - now > memory { place.arrival = now + memory }
            return memory > 0 && place.arrival > now
        }
    }

    private func segment(of position: UInt64) -> Int {
        // The upper bits; the lower ones are the place within the segment.
        Int(truncatingIfNeeded: position >> 48) & (segments.count - 1)
    }

    private func sharedPlace(of key: LimitKey, at position: UInt64) -> SharedPlace {
        SharedPlace(limit: key.limit, number: (position >> 32) % Self.sharedPlaces)
    }
}
