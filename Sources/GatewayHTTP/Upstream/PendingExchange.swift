internal import Gateway
internal import NIOCore

/// A request to the backend together with the closure that receives its result. Loop-bound; completed exactly once.
final class PendingExchange {
    let bytes: ByteBuffer
    let isRetryable: Bool
    let deadline: NIODeadline
    /// Checks whether the request may still be written; nil if a revocation does not stop it.
    private let caller: CallerRevocationCheck?
    /// Whether the request was already written to a first connection and is now on its second.
    var isRetry = false
    /// The destinations to which a connection was requested.
    var tried: [ObjectIdentifier] = []

    private var completion: ((BackendResult) -> Void)?
    private var timer: Scheduled<Void>?

    /// Creates an exchange without a connection.
    ///
    /// - Parameter completion: Called once, on the loop.
    init(
        bytes: ByteBuffer, isRetryable: Bool, deadline: NIODeadline, caller: CallerRevocationCheck?,
        completion: @escaping (BackendResult) -> Void
    ) {
        self.caller = caller
        self.bytes = bytes
        self.isRetryable = isRetryable
        self.deadline = deadline
        self.completion = completion
    }

    var isFinished: Bool { completion == nil }

    /// Completes the exchange. Later results are ignored.
    func finish(_ result: BackendResult) {
        stopTimer()
        let completion = completion
        self.completion = nil
        completion?(result)
    }

    /// Completes the exchange if its caller was revoked while it waited. Called right before the request is written.
    ///
    /// - Returns: Whether the request must not be written.
    func finishIfWithdrawn() -> Bool {
        guard let withdrawal = caller?.withdrawal else { return false }
        // The first attempt has written bytes.
        finish(isRetry ? .broken("the caller was revoked before the second attempt") : .withdrawn(withdrawal))
        return true
    }

    /// Starts the deadline timer for the time without a connection.
    func startTimer(on loop: any EventLoop, onExpiry: @escaping () -> Void) {
        stopTimer()
        timer = loop.assumeIsolated().scheduleTask(deadline: deadline, onExpiry)
    }

    /// Stops the deadline timer. A connection that starts the exchange enforces the deadline itself.
    func stopTimer() {
        timer?.cancel()
        timer = nil
    }
}

@available(*, unavailable)
extension PendingExchange: Sendable {}
