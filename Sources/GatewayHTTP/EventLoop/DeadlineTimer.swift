internal import NIOCore

/// A timer for a deadline that is moved often and rarely expires. Postponing the deadline does not touch the event
/// loop.
///
/// A callback is scheduled only if none is due before the deadline. A callback that fires before the deadline schedules
/// the next one. Loop-bound: create it, use it and receive its callback on the same loop.
final class DeadlineTimer: NIOScheduledCallbackHandler {
    private let loop: any EventLoop
    private var passed: (() -> Void)?
    private var deadline: NIODeadline?
    private var wakeUp: (at: NIODeadline, callback: NIOScheduledCallback)?

    /// Creates a timer without a deadline.
    init(on loop: any EventLoop) { self.loop = loop }

    /// Sets the closure that runs when the deadline expires. The closure may strongly reference the owner of the timer,
    /// because `stop()` releases it. A weak reference would make every access to the owner slower.
    func start(_ passed: @escaping () -> Void) { self.passed = passed }

    /// Replaces the deadline; nil removes it.
    func set(_ deadline: NIODeadline?) {
        self.deadline = deadline
        guard let deadline else { return }
        if let wakeUp {
            if wakeUp.at <= deadline { return }
            wakeUp.callback.cancel()
        }
        schedule(deadline)
    }

    /// Stops the timer permanently and releases the closure.
    func stop() {
        deadline = nil
        passed = nil
        wakeUp?.callback.cancel()
        wakeUp = nil
    }

    func handleScheduledCallback(eventLoop: some EventLoop) {
        wakeUp = nil
        guard let deadline else { return }
        if deadline <= loop.now {
            self.deadline = nil
            passed?()
        } else {
            schedule(deadline)
        }
    }

    private func schedule(_ time: NIODeadline) {
        // Scheduling fails only on a loop that is shut down, where no deadline matters any more.
        wakeUp = (try? loop.assumeIsolated().scheduleCallback(at: time, handler: self)).map { (time, $0) }
    }
}

@available(*, unavailable)
extension DeadlineTimer: Sendable {}
