internal import Synchronization

/// Counts the calls in flight of one listener or several, from any loop. Asked once a call: one atomic addition.
///
/// What is one too many waits (``WaitingCalls``), so that those that were admitted keep their pace.
public final class CallCaps: Sendable {
    /// How many there may be at a time.
    public let most: Int
    private let count = Atomic(0)

    /// None yet, and at most so many.
    public init(most: Int = 2048) { self.most = most }

    /// How many are in flight.
    public var inFlight: Int { count.load(ordering: .relaxed) }

    /// Counts a call in; false if it is one too many, and then it is not counted.
    func admit() -> Bool {
        if count.add(1, ordering: .relaxed).newValue <= most { return true }
        leave()
        return false
    }

    /// Counts an admitted call out.
    func leave() { count.subtract(1, ordering: .relaxed) }
}
