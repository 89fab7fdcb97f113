public import NIOCore
internal import Synchronization

/// Counts the calls in flight of one listener or several, from any loop. Asked once a call: one atomic addition.
///
/// What is one too many waits (``AdmissionQueue``), so that those that were admitted keep their pace. Beside the places for all calls
/// there are some, an eighth as many, for calls that need no backend: a slow backend must not keep callers from what the gateway
/// answers by itself.
public final class InFlightLimit: Sendable {
    /// How many there may be at a time.
    public let most: Int
    /// How many more there may be of those that need no backend.
    public let reserve: Int
    private let count = Atomic(0)
    // In nanoseconds of the loops' clock; 0 for never.
    private let firstRejection = Atomic<UInt64>(0)
    private let lastRejection = Atomic<UInt64>(0)

    /// Without a refusal for so long, an overload is over.
    private static let pause = TimeAmount.seconds(5)

    /// None yet, and at most so many.
    public init(most: Int = 2048) {
        self.most = most
        reserve = max(4, most / 8)
    }

    /// How many are in flight.
    public var inFlight: Int { count.load(ordering: .relaxed) }

    /// Counts a call in; false if it is one too many, and then it is not counted.
    func admit() -> Bool { admit(atMost: most) }

    /// Counts a call in that needs no backend; false if it is one too many of these too.
    func admitToReserve() -> Bool { admit(atMost: most + reserve) }

    /// Counts an admitted call out.
    func leave() { count.subtract(1, ordering: .relaxed) }

    /// Notes that a call was refused for want of a place.
    func recordRejection(_ now: NIODeadline) {
        let now = now.uptimeNanoseconds
        let last = lastRejection.exchange(now, ordering: .relaxed)
        // Another loop's refusal may have been noted a moment later than this one.
        if last == 0 || now > last && now - last > UInt64(Self.pause.nanoseconds) {
            firstRejection.store(now, ordering: .relaxed)
        }
    }

    /// For how long calls have been refused for want of a place, with no pause of five seconds; nil where none are.
    public func overloaded(now: NIODeadline = .now()) -> TimeAmount? {
        let (first, last) = (firstRejection.load(ordering: .relaxed), lastRejection.load(ordering: .relaxed))
        guard last > 0, now <= .uptimeNanoseconds(last) + Self.pause else { return nil }
        return last > first ? .nanoseconds(Int64(last - first)) : .zero
    }

    private func admit(atMost most: Int) -> Bool {
        if count.add(1, ordering: .relaxed).newValue <= most { return true }
        leave()
        return false
    }
}
