internal import NIOCore

/// One deadline that nearly always moves on before it passes: setting it later costs no work at the event loop.
///
/// The loop is asked for a wake-up only where none is due before the deadline; a wake-up that comes too early asks for the
/// next one. Loop-bound: made, used and called back on its loop.
final class DeadlineTimer: NIOScheduledCallbackHandler {
    private let loop: any EventLoop
    private let passed: () -> Void
    private var deadline: NIODeadline?
    private var wakeUp: (at: NIODeadline, callback: NIOScheduledCallback)?

    /// A timer without a deadline. The closure must not own the timer's owner.
    init(on loop: any EventLoop, passed: @escaping () -> Void) {
        self.loop = loop
        self.passed = passed
    }

    /// Replaces the deadline; nil is none.
    func set(_ deadline: NIODeadline?) {
        self.deadline = deadline
        guard let deadline else { return }
        if let wakeUp {
            if wakeUp.at <= deadline { return }
            wakeUp.callback.cancel()
        }
        schedule(deadline)
    }

    /// Ends the timer; a wake-up would keep it alive for nothing.
    func stop() {
        deadline = nil
        wakeUp?.callback.cancel()
        wakeUp = nil
    }

    func handleScheduledCallback(eventLoop: some EventLoop) {
        wakeUp = nil
        guard let deadline else { return }
        if deadline <= loop.now {
            self.deadline = nil
            passed()
        } else {
            schedule(deadline)
        }
    }

    private func schedule(_ time: NIODeadline) {
        // Fails only on a loop that is shut down, and then nothing waits for the deadline any more.
        wakeUp = (try? loop.assumeIsolated().scheduleCallback(at: time, handler: self)).map { (time, $0) }
    }
}

@available(*, unavailable)
extension DeadlineTimer: Sendable {}
