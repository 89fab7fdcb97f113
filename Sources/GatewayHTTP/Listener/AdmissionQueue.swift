internal import NIOCore

/// The queue of calls on one event loop that wait for admission. Clients take turns, and the calls of one client are admitted
/// in order of arrival (`TurnQueue`). A call waits while ``InFlightLimit`` has no free slot, or while the loop has as many calls
/// in flight as ``AdaptiveConcurrencyLimit`` allows. Loop-bound.
///
/// Rejecting a call takes a large part of the CPU time that serving it would take, most of it in system calls. Waiting
/// costs almost nothing. A call therefore waits for up to `maximumWait`, which also bounds how often one connection can
/// be rejected. A new call is rejected at once in three cases:
///
/// - The queue is full, and the client has an equal share of it, or the queue has twice its length.
/// - The last periodic check of the queue has rejected a call after `maximumWait`, and no call of this loop has
///   completed since the check before it.
/// - The client's first call in the queue has waited for `rejectionThreshold`; or that of any client had at the last check, and
///   this client has at least as many calls as the average. The number of these rejections is bounded, so that they take
///   little of the loop's time; a call beyond the bound is queued.
final class AdmissionQueue {
    /// A call that may have to wait. The queue calls exactly one of `begin` and `reject`.
    struct Call {
        /// The client whose turn it is when the call begins.
        let owner: TurnOwner
        /// Returns whether the client is still connected.
        let isAwaited: () -> Bool
        /// Starts the call, for which a slot is held.
        let begin: () -> Void
        /// Rejects the call.
        let reject: () -> Void
    }

    /// The waiting time of a client's first call above which its new calls are rejected.
    static let rejectionThreshold: TimeAmount = .milliseconds(500)
    /// The maximum number of rejections because of `rejectionThreshold` within 50 ms.
    static let maximumRejections = 100
    /// The maximum waiting time.
    static let maximumWait: TimeAmount = .seconds(1)
    /// The length above which only clients with less than an equal share may add calls. Each call in the queue holds its
    /// request.
    static let maximumLength = 8192
    private static let checkInterval: TimeAmount = .milliseconds(50)
    /// The interval at which the adaptive limit is checked if no call completes.
    private static let adaptiveCheckInterval: TimeAmount = .milliseconds(1)

    private let inFlightLimit: InFlightLimit
    private let loop: any EventLoop
    private var adaptiveLimit: AdaptiveConcurrencyLimit?
    private var isAdaptiveCheckScheduled = false
    private var isCheckScheduled = false
    private var calls = TurnQueue<(call: Call, since: NIODeadline)>()
    private var isAdmitting = false
    /// Whether the last check has rejected a call after `maximumWait`, and no call of this loop has completed since
    /// the check before it.
    private var isStalled = false
    /// The arrival of the call that had waited for the longest time at the last check.
    private var longestWaiting: NIODeadline?
    /// Whether a call of this loop has completed since the last check.
    private var hasCompleted = false
    /// The number of rejections because of `rejectionThreshold` since the last check.
    private var rejections = 0

    /// Creates an empty queue. Without a tick counter there is no adaptive limit.
    init(for inFlightLimit: InFlightLimit, on loop: any EventLoop, tick: EventLoopTick?) {
        self.inFlightLimit = inFlightLimit
        self.loop = loop
        adaptiveLimit = tick.map(AdaptiveConcurrencyLimit.init)
    }

    /// The number of calls in the queue.
    var count: Int { calls.count }
    /// The number of admitted, uncompleted calls of this loop.
    private(set) var inFlight = 0

    /// Admits a call at once and returns true if the queue is empty, a slot is free, and the adaptive limit allows
    /// another call.
    func admit() -> Bool {
        adaptiveLimit?.recordArrival()
        return calls.isEmpty && isBelowAdaptiveLimit && acquireSlot()
    }

    /// Whether no slot is free, except for the reserve for calls that need no backend.
    var isAtLimit: Bool { inFlightLimit.inFlight >= inFlightLimit.maximum }

    /// Admits a call that needs no backend, if the limit or its reserve has a free slot.
    func admitUsingReserve() -> Bool {
        guard inFlightLimit.admitUsingReserve() else { return false }
        inFlight += 1
        return true
    }

    /// Releases the slot of a completed call.
    func release() {
        inFlight -= 1
        hasCompleted = true
        adaptiveLimit?.recordCompletion()
        inFlightLimit.release()
    }

    /// Queues a call that was not admitted, or rejects it.
    func enqueue(_ call: Call) {
        let now = loop.now
        if isStalled || !hasRoom(for: call.owner) { return reject(call, now) }
        if rejections < Self.maximumRejections, hasWaitedTooLong(call.owner, now) {
            rejections += 1
            return reject(call, now)
        }
        calls.append((call, now), of: call.owner)
        if !isCheckScheduled { scheduleCheck() }
        if !isBelowAdaptiveLimit { scheduleAdaptiveCheck() }
    }

    private func hasRoom(for owner: TurnOwner) -> Bool {
        if calls.count < Self.maximumLength { return true }
        return calls.count < 2 * Self.maximumLength
            && calls.count(of: owner) < Self.maximumLength / ownerCount(with: owner)
    }

    /// The number of clients in the queue if this one adds a call.
    private func ownerCount(with owner: TurnOwner) -> Int {
        calls.count(of: owner) == 0 ? calls.ownerCount + 1 : calls.ownerCount
    }

    private func hasWaitedTooLong(_ owner: TurnOwner, _ now: NIODeadline) -> Bool {
        if let first = calls.first(of: owner), now - first.since >= Self.rejectionThreshold { return true }
        guard let longestWaiting, now - longestWaiting >= Self.rejectionThreshold else { return false }
        return (calls.count(of: owner) + 1) * ownerCount(with: owner) >= calls.count + 1
    }

    /// Admits queued calls to free slots. Call it after `release()`.
    func beginNext() {
        isStalled = false
        admitQueuedCalls()
    }

    private func admitQueuedCalls() {
        // `begin` may complete a call before it returns, which would recurse without `isAdmitting`.
        guard !calls.isEmpty, !isAdmitting else { return }
        isAdmitting = true
        defer { isAdmitting = false }
        while let (call, since) = calls.first {
            if call.isAwaited() {
                guard isBelowAdaptiveLimit else { return scheduleAdaptiveCheck() }
                guard acquireSlot() else { return }
                remove(since)
                call.begin()
            } else {
                remove(since)
                call.reject()
            }
        }
    }

    private func remove(_ since: NIODeadline) {
        _ = calls.popFirst()
        // The next one is known at the next check.
        if since == longestWaiting { longestWaiting = nil }
    }

    private func reject(_ call: Call, _ now: NIODeadline) {
        inFlightLimit.recordRejection(now)
        call.reject()
    }

    private func acquireSlot() -> Bool {
        guard inFlightLimit.admit() else { return false }
        inFlight += 1
        return true
    }

    private var isBelowAdaptiveLimit: Bool {
        adaptiveLimit?.isOpen(inFlight: inFlight, isWanted: !calls.isEmpty, maximum: inFlightLimit.maximum) ?? true
    }

    private func scheduleAdaptiveCheck() {
        guard !isAdaptiveCheckScheduled else { return }
        isAdaptiveCheckScheduled = true
        loop.assumeIsolated().scheduleTask(in: Self.adaptiveCheckInterval) {
            self.isAdaptiveCheckScheduled = false
            self.admitQueuedCalls()
        }
    }

    // Admits calls to slots that other loops have released, and rejects calls that have waited for `maximumWait`.
    private func scheduleCheck() {
        isCheckScheduled = true
        loop.assumeIsolated().scheduleTask(in: Self.checkInterval) {
            self.rejections = 0
            self.beginNext()
            let now = self.loop.now
            let expired = self.calls.removeLeading { now - $0.since >= Self.maximumWait }
            if !expired.isEmpty { self.isStalled = !self.hasCompleted }
            self.hasCompleted = false
            self.longestWaiting = self.calls.firstOfEach.map(\.since).min()
            for (call, _) in expired { self.reject(call, now) }
            // Reset `isCheckScheduled` only here: a call that begins or is rejected above may bring the next request of
            // its connection.
            self.isCheckScheduled = false
            if !self.calls.isEmpty { self.scheduleCheck() }
        }
    }
}

@available(*, unavailable)
extension AdmissionQueue: Sendable {}
