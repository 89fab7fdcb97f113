internal import NIOCore

/// A timer for a deadline that is moved often and rarely expires. Postponing the deadline does not touch the event
/// loop.
///
/// Only one callback is pending on the event loop. It stays scheduled when the deadline is postponed; if it fires too
/// early, it schedules another one for the current deadline. Loop-bound: create and use the timer on its loop, where
/// the expiry handler also runs.
final class DeadlineTimer: NIOScheduledCallbackHandler {
    private let loop: any EventLoop
    private var expiryHandler: (() -> Void)?
    private var deadline: NIODeadline?
    private var scheduledCallback: (at: NIODeadline, callback: NIOScheduledCallback)?

    /// Creates a timer without a deadline.
    init(on loop: any EventLoop) { self.loop = loop }

    /// Sets the closure that runs when the deadline expires. The closure may capture the timer's owner strongly: the
    /// owner must call `stop()`, which releases the closure. A weak reference would make every access to the owner
    /// slower.
    func setExpiryHandler(_ handler: @escaping () -> Void) { expiryHandler = handler }

    /// Replaces the deadline; nil removes it.
    func set(_ deadline: NIODeadline?) {
        self.deadline = deadline
        guard let deadline else { return }
        if let scheduledCallback {
            if scheduledCallback.at <= deadline { return }
            scheduledCallback.callback.cancel()
        }
        schedule(deadline)
    }

    /// Stops the timer permanently and releases the closure.
    func stop() {
        deadline = nil
        expiryHandler = nil
        scheduledCallback?.callback.cancel()
        scheduledCallback = nil
    }

    func handleScheduledCallback(eventLoop: some EventLoop) {
        scheduledCallback = nil
        guard let deadline else { return }
        if deadline <= loop.now {
            self.deadline = nil
            expiryHandler?()
        } else {
            schedule(deadline)
        }
    }

    private func schedule(_ time: NIODeadline) {
        // Scheduling fails only on a loop that is shut down, where no deadline matters any more.
        scheduledCallback = (try? loop.assumeIsolated().scheduleCallback(at: time, handler: self)).map { (time, $0) }
    }
}

@available(*, unavailable)
extension DeadlineTimer: Sendable {}
