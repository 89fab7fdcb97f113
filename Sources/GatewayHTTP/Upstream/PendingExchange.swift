internal import Gateway
internal import NIOCore

/// One request on its way to the backend and the call that waits for its answer. Loop-bound; answered exactly once.
final class PendingExchange {
    let bytes: ByteBuffer
    let mayBeRepeated: Bool
    let deadline: NIODeadline
    /// Whether the request is on its second connection, and so was put on the wire before.
    var isRepeated = false

    private var continuation: CheckedContinuation<BackendAnswer, Never>?
    private var timer: Scheduled<Void>?

    init(
        bytes: ByteBuffer, mayBeRepeated: Bool, deadline: NIODeadline,
        continuation: CheckedContinuation<BackendAnswer, Never>
    ) {
        self.bytes = bytes
        self.mayBeRepeated = mayBeRepeated
        self.deadline = deadline
        self.continuation = continuation
    }

    var isFinished: Bool { continuation == nil }

    /// Answers the call; what comes after the first answer is dropped.
    func finish(_ answer: BackendAnswer) {
        stopTimer()
        continuation?.resume(returning: answer)
        continuation = nil
    }

    /// Runs the deadline while there is no connection that does.
    func startTimer(on loop: any EventLoop, passed: @escaping () -> Void) {
        stopTimer()
        timer = loop.assumeIsolated().scheduleTask(deadline: deadline, passed)
    }

    /// The connection runs the deadline from here on.
    func stopTimer() {
        timer?.cancel()
        timer = nil
    }
}

@available(*, unavailable)
extension PendingExchange: Sendable {}
