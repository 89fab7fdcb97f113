/// A bounded queue in which nobody who comes from one place can keep out those who come from another.
///
/// First come, first served, among those of whose place few enough are under way.
struct FairQueue<Element, Place: Hashable> {
    /// How many may wait.
    let capacity: Int
    /// How many of one place may wait.
    let share: Int
    /// How many of one place may be under way.
    let underWayAtOnce: Int

    private var waiting: [(element: Element, place: Place)] = []
    private var waitingOf: [Place: Int] = [:]
    private var underWayOf: [Place: Int] = [:]

    init(capacity: Int, share: Int, underWayAtOnce: Int) {
        self.capacity = capacity
        self.share = share
        self.underWayAtOnce = underWayAtOnce
    }

    /// How many wait.
    var count: Int { waiting.count }

    /// Lets one wait; false where there is no room for one of this place.
    mutating func add(_ element: Element, of place: Place) -> Bool {
        guard waiting.count < capacity, waitingOf[place, default: 0] < share else { return false }
        waiting.append((element, place))
        waitingOf[place, default: 0] += 1
        return true
    }

    /// Takes out the next, which is under way from now on, or nil where nobody may be. `finish` follows.
    mutating func next() -> (element: Element, place: Place)? {
        let index = waiting.firstIndex { underWayOf[$0.place, default: 0] < underWayAtOnce }
        guard let next = index.map({ waiting.remove(at: $0) }) else { return nil }
        waitingOf.lower(next.place)
        underWayOf[next.place, default: 0] += 1
        return next
    }

    /// One of this place is no longer under way.
    mutating func finish(_ place: Place) { underWayOf.lower(place) }

    /// Takes out all that wait.
    mutating func removeAll() -> [Element] {
        defer {
            waiting = []
            waitingOf = [:]
        }
        return waiting.map(\.element)
    }
}

extension Dictionary where Value == Int {
    // What is zero is left out, so that a place is forgotten with its last login.
    fileprivate mutating func lower(_ key: Key) {
        guard let count = self[key] else { return }
        self[key] = count > 1 ? count - 1 : nil
    }
}
