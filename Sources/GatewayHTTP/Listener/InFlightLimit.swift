public import NIOCore
internal import Synchronization

/// A limit on the calls in flight of one or more listeners. Each call in flight occupies one of its slots. Any loop
/// may use the limit; each call costs one atomic addition.
///
/// A call beyond the limit waits in ``AdmissionQueue``, so that admitted calls keep their latency. A reserve of an
/// eighth of the limit admits further calls that need no backend. A slow backend therefore cannot block the calls that
/// the gateway serves itself.
public final class InFlightLimit: Sendable {
    /// The maximum number of calls in flight.
    public let maximum: Int
    /// The additional slots for calls that need no backend.
    public let reserve: Int
    private let count = Atomic(0)
    // In nanoseconds of the event loops' clock; 0 means never.
    private let firstRejection = Atomic<UInt64>(0)
    private let lastRejection = Atomic<UInt64>(0)

    /// The time without a rejection after which an overload is over.
    private static let pause = TimeAmount.seconds(5)

    /// Creates a limit with no calls in flight.
    public init(maximum: Int = 2048) {
        self.maximum = maximum
        reserve = max(4, maximum / 8)
    }

    /// The number of calls in flight.
    public var inFlight: Int { count.load(ordering: .relaxed) }

    /// Counts a call in. Returns false, without counting it, if the limit is reached.
    func admit() -> Bool { admit(atMost: maximum) }

    /// Counts in a call that needs no backend. Returns false, without counting it, if limit and reserve are exhausted.
    func admitUsingReserve() -> Bool { admit(atMost: maximum + reserve) }

    /// Counts an admitted call out.
    func release() { count.subtract(1, ordering: .relaxed) }

    /// Records that a call was rejected because the limit was reached.
    func recordRejection(_ now: NIODeadline) {
        let now = now.uptimeNanoseconds
        let last = lastRejection.exchange(now, ordering: .relaxed)
        // Another loop may have recorded a slightly later time.
        if last == 0 || now > last && now - last > UInt64(Self.pause.nanoseconds) {
            firstRejection.store(now, ordering: .relaxed)
        }
    }

    /// Returns the duration of the current overload, in which calls were rejected without a pause of five seconds; nil
    /// if there is no overload.
    public func overloaded(now: NIODeadline = .now()) -> TimeAmount? {
        let (first, last) = (firstRejection.load(ordering: .relaxed), lastRejection.load(ordering: .relaxed))
        guard last > 0, now <= .uptimeNanoseconds(last) + Self.pause else { return nil }
        return last > first ? .nanoseconds(Int64(last - first)) : .zero
    }

    private func admit(atMost most: Int) -> Bool {
        if count.add(1, ordering: .relaxed).newValue <= most { return true }
        release()
        return false
    }
}
