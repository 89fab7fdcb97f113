internal import NIOCore

/// The queue of calls on one event loop that wait for admission, in order of arrival. A call waits while all places of
/// ``InFlightLimit`` are taken, or while the loop has as many calls in flight as ``AdaptiveConcurrencyLimit`` allows.
///
/// A rejection costs a large part of the CPU time of a served call, most of it in system calls. Waiting costs almost
/// nothing. A call therefore waits for up to one second, which also bounds how often one connection can be rejected. If
/// the first call in the queue has waited too long or was rejected, further calls are rejected at once. While the queue
/// moves, the number of such rejections is bounded, so that they take little time of the loop. Loop-bound.
final class AdmissionQueue {
    /// A call that may have to wait. The queue calls exactly one of `begin` and `reject`.
    struct Call {
        /// Returns whether the client is still connected.
        let isAwaited: () -> Bool
        /// Starts the call, which has a place.
        let begin: () -> Void
        /// Rejects the call.
        let reject: () -> Void
    }

    /// The waiting time of the first call above which new calls are rejected.
    static let rejectionThreshold: TimeAmount = .milliseconds(500)
    /// The maximum number of such rejections within 50 ms.
    static let maximumRejections = 100
    /// The maximum waiting time.
    static let longest: TimeAmount = .seconds(1)
    /// The maximum length of the queue. Each call in it holds its request.
    static let most = 8192
    private static let checkInterval: TimeAmount = .milliseconds(50)
    /// The interval at which the adaptive limit is checked if no call completes.
    private static let windowInterval: TimeAmount = .milliseconds(1)

    private let places: InFlightLimit
    private let loop: any EventLoop
    private var window: AdaptiveConcurrencyLimit?
    private var isWindowCheckScheduled = false
    private var isCheckScheduled = false
    private var calls = CircularBuffer<(call: Call, since: NIODeadline)>()
    private var isBeginning = false
    private var isStuck = false
    private var rejections = 0

    /// Creates an empty queue. Without a tick counter there is no adaptive limit.
    init(for places: InFlightLimit, on loop: any EventLoop, tick: EventLoopTick?) {
        self.places = places
        self.loop = loop
        window = tick.map(AdaptiveConcurrencyLimit.init)
    }

    /// The number of calls in the queue.
    var count: Int { calls.count }
    /// The number of admitted calls on this loop.
    private(set) var inFlight = 0

    /// Admits a call at once if a place is free and the queue is empty.
    func admit() -> Bool {
        window?.recordArrival()
        return calls.isEmpty && isWindowOpen && takePlace()
    }

    /// Whether all places are taken, except for the reserve for calls that need no backend.
    var hasNoPlace: Bool { places.inFlight >= places.most }

    /// Admits a call that needs no backend to the reserve.
    func admitToReserve() -> Bool {
        guard places.admitToReserve() else { return false }
        inFlight += 1
        return true
    }

    /// Releases the place of a completed call.
    func leave() {
        inFlight -= 1
        window?.recordCompletion()
        places.leave()
    }

    /// Queues a call that was not admitted, or rejects it.
    func enqueue(_ call: Call) {
        let now = loop.now
        if isStuck || calls.count >= Self.most { return reject(call, now) }
        if let first = calls.first, now - first.since >= Self.rejectionThreshold, rejections < Self.maximumRejections {
            rejections += 1
            return reject(call, now)
        }
        calls.append((call, now))
        if !isCheckScheduled { scheduleCheck() }
        if !isWindowOpen { scheduleWindowCheck() }
    }

    /// Admits queued calls to free places. Called when a call has released its place.
    func beginNext() {
        isStuck = false
        beginWaiting()
    }

    private func beginWaiting() {
        // `begin` may complete a call before it returns, which would recurse without `isBeginning`.
        guard !calls.isEmpty, !isBeginning else { return }
        isBeginning = true
        defer { isBeginning = false }
        while let (call, _) = calls.first {
            if call.isAwaited() {
                guard isWindowOpen else { return scheduleWindowCheck() }
                guard takePlace() else { return }
                calls.removeFirst()
                call.begin()
            } else {
                calls.removeFirst()
                call.reject()
            }
        }
    }

    private func reject(_ call: Call, _ now: NIODeadline) {
        places.recordRejection(now)
        call.reject()
    }

    private func takePlace() -> Bool {
        guard places.admit() else { return false }
        inFlight += 1
        return true
    }

    private var isWindowOpen: Bool {
        window?.isOpen(inFlight: inFlight, isWanted: !calls.isEmpty, most: places.most) ?? true
    }

    private func scheduleWindowCheck() {
        guard !isWindowCheckScheduled else { return }
        isWindowCheckScheduled = true
        loop.assumeIsolated().scheduleTask(in: Self.windowInterval) {
            self.isWindowCheckScheduled = false
            self.beginWaiting()
        }
    }

    // This check detects places that calls on other loops have released, and a queue that does not move.
    private func scheduleCheck() {
        isCheckScheduled = true
        loop.assumeIsolated().scheduleTask(in: Self.checkInterval) {
            self.rejections = 0
            self.beginNext()
            let now = self.loop.now
            while let (call, since) = self.calls.first, now - since >= Self.longest {
                self.calls.removeFirst()
                self.isStuck = true
                self.reject(call, now)
            }
            // Reset `isCheckScheduled` only here: a call that begins or is rejected above may bring the next request of
            // its connection.
            self.isCheckScheduled = false
            if !self.calls.isEmpty { self.scheduleCheck() }
        }
    }
}

@available(*, unavailable)
extension AdmissionQueue: Sendable {}
