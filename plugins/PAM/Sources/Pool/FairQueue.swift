/// A bounded queue that shares its room among places, so that one place cannot block the others.
///
/// Elements leave in order of arrival, except that places with too many elements in flight are skipped.
struct FairQueue<Element, Place: Hashable> {
    /// The greatest number of waiting elements.
    let capacity: Int
    /// The greatest number of waiting elements of one place.
    let share: Int
    /// The greatest number of elements of one place in flight.
    let maxInFlight: Int

    private var waiting: [(element: Element, place: Place)] = []
    private var waitingByPlace: [Place: Int] = [:]
    private var inFlightByPlace: [Place: Int] = [:]

    init(capacity: Int, share: Int, maxInFlight: Int) {
        self.capacity = capacity
        self.share = share
        self.maxInFlight = maxInFlight
    }

    /// The number of waiting elements.
    var count: Int { waiting.count }

    /// Appends an element. Returns false if the queue or the place's share is full.
    mutating func add(_ element: Element, of place: Place) -> Bool {
        guard waiting.count < capacity, waitingByPlace[place, default: 0] < share else { return false }
        waiting.append((element, place))
        waitingByPlace[place, default: 0] += 1
        return true
    }

    /// Removes the next element and counts it as in flight; returns nil if no element may start. The caller must call
    /// `finish(_:)` when the element is done.
    mutating func next() -> (element: Element, place: Place)? {
        let index = waiting.firstIndex { inFlightByPlace[$0.place, default: 0] < maxInFlight }
        guard let next = index.map({ waiting.remove(at: $0) }) else { return nil }
        waitingByPlace.decrement(next.place)
        inFlightByPlace[next.place, default: 0] += 1
        return next
    }

    /// Counts one element of the place as no longer in flight.
    mutating func finish(_ place: Place) { inFlightByPlace.decrement(place) }

    /// Removes and returns all waiting elements.
    mutating func removeAll() -> [Element] {
        defer {
            waiting = []
            waitingByPlace = [:]
        }
        return waiting.map(\.element)
    }
}

extension Dictionary where Value == Int {
    // Entries that reach zero are removed, so the dictionaries hold only active places.
    fileprivate mutating func decrement(_ key: Key) {
        guard let count = self[key] else { return }
        self[key] = count > 1 ? count - 1 : nil
    }
}
