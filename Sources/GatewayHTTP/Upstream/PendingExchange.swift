internal import Gateway
internal import NIOCore

/// One request on its way to the backend and who waits for its answer. Loop-bound; answered exactly once.
final class PendingExchange {
    let bytes: ByteBuffer
    let mayBeRepeated: Bool
    let deadline: NIODeadline
    /// Whether the request is on its second connection, and so was put on the wire before.
    var isRepeated = false
    /// The destinations that a connection was asked of.
    var tried: [ObjectIdentifier] = []

    private var answered: ((BackendResult) -> Void)?
    private var timer: Scheduled<Void>?

    /// - Parameter answered: called once, on the loop.
    init(
        bytes: ByteBuffer, mayBeRepeated: Bool, deadline: NIODeadline, answered: @escaping (BackendResult) -> Void
    ) {
        self.bytes = bytes
        self.mayBeRepeated = mayBeRepeated
        self.deadline = deadline
        self.answered = answered
    }

    var isFinished: Bool { answered == nil }

    /// Answers the call; what comes after the first answer is dropped.
    func finish(_ answer: BackendResult) {
        stopTimer()
        let answered = answered
        self.answered = nil
        answered?(answer)
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
