internal import NIOCore

/// One deadline that nearly always moves on before it passes: setting it later costs no work at the event loop.
///
/// The loop is asked for a wake-up only where none is due before the deadline; a wake-up that comes too early asks for the
/// next one. Loop-bound: made, used and called back on its loop.
final class DeadlineTimer: NIOScheduledCallbackHandler {
    private let loop: any EventLoop
    private var passed: (() -> Void)?
    private var deadline: NIODeadline?
    private var wakeUp: (at: NIODeadline, callback: NIOScheduledCallback)?

    /// A timer without a deadline.
    init(on loop: any EventLoop) { self.loop = loop }

    /// Says what to do when a deadline passes. The closure may own the timer's owner: `stop()` lets go of it. (A weak
    /// reference instead would make each use of the owner dearer.)
    func start(_ passed: @escaping () -> Void) { self.passed = passed }

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

    /// Ends the timer for good; a wake-up would keep it alive for nothing.
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
        // Fails only on a loop that is shut down, and then nothing waits for the deadline any more.
        wakeUp = (try? loop.assumeIsolated().scheduleCallback(at: time, handler: self)).map { (time, $0) }
    }
}

@available(*, unavailable)
extension DeadlineTimer: Sendable {}
