/// A bounded queue that shares its room among origins, so that one origin cannot block the others.
///
/// Elements leave in order of arrival, except that origins with too many elements in progress are skipped. One origin may
/// have room of its own: its elements wait beside a full queue, and leave after at most ``maximumTurns`` of the others.
package struct FairQueue<Element, Origin: Hashable> {
    /// The maximum number of waiting elements.
    package let capacity: Int
    /// The maximum number of waiting elements of one origin.
    package let maximumPerOrigin: Int
    /// The maximum number of elements of one origin in progress.
    package let maximumInProgress: Int
    /// The origin that has room of its own; nil for none.
    package let reserved: Origin?
    /// The number of elements of other origins that may leave before one of the reserved origin.
    package static var maximumTurns: Int { 3 }

    /// The elements of other origins that have left since one of the reserved origin.
    private var turns = 0
    private var waiting: [(element: Element, origin: Origin)] = []
    private var waitingByOrigin: [Origin: Int] = [:]
    private var inProgressByOrigin: [Origin: Int] = [:]

    /// Creates an empty queue.
    package init(capacity: Int, maximumPerOrigin: Int, maximumInProgress: Int, reserved: Origin? = nil) {
        self.capacity = capacity
        self.maximumPerOrigin = maximumPerOrigin
        self.maximumInProgress = maximumInProgress
        self.reserved = reserved
    }

    /// The number of waiting elements.
    package var count: Int { waiting.count }

    /// Appends an element. Returns false if the queue is full, or the origin has its maximum of waiting elements.
    package mutating func add(_ element: Element, of origin: Origin) -> Bool {
        let others = waiting.count - (reserved.map { waitingByOrigin[$0, default: 0] } ?? 0)
        guard others < capacity || origin == reserved, waitingByOrigin[origin, default: 0] < maximumPerOrigin else {
            return false
        }
        waiting.append((element, origin))
        waitingByOrigin[origin, default: 0] += 1
        return true
    }

    /// Removes the next element and counts it as in progress; returns nil if no element may start. The caller must call
    /// `finish(_:)` when the element is done.
    package mutating func next() -> (element: Element, origin: Origin)? {
        func mayStart(_ origin: Origin) -> Bool { inProgressByOrigin[origin, default: 0] < maximumInProgress }
        let due =
            turns < Self.maximumTurns
            ? nil : waiting.firstIndex { $0.origin == reserved && mayStart($0.origin) }
        let index = due ?? waiting.firstIndex { mayStart($0.origin) }
        guard let next = index.map({ waiting.remove(at: $0) }) else { return nil }
        turns = next.origin == reserved ? 0 : min(turns + 1, Self.maximumTurns)
        waitingByOrigin.decrement(next.origin)
        inProgressByOrigin[next.origin, default: 0] += 1
        return next
    }

    /// Counts one element of the origin as no longer in progress.
    package mutating func finish(_ origin: Origin) { inProgressByOrigin.decrement(origin) }

    /// Removes and returns all waiting elements.
    package mutating func removeAll() -> [Element] {
        defer {
            waiting = []
            waitingByOrigin = [:]
        }
        return waiting.map(\.element)
    }
}

extension Dictionary where Value == Int {
    // Entries that reach zero are removed, so the dictionaries hold only active origins.
    fileprivate mutating func decrement(_ key: Key) {
        guard let count = self[key] else { return }
        self[key] = count > 1 ? count - 1 : nil
    }
}
