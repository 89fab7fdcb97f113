internal import Dispatch
internal import Foundation
internal import GatewaySupport
internal import Logging
internal import Synchronization

/// Copies checkpoints to a destination outside the journal on its own thread, so that a hanging mount does not block
/// the journal.
///
/// A line that cannot be copied is dropped, and the log reports the first failure of a series. The next checkpoint
/// covers the dropped one's lines too.
final class CheckpointCopier: Sendable {
    private struct State {
        var lines: [[UInt8]] = []
        var isClosing = false
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let closing = DispatchSemaphore(value: 0)

    /// The maximum number of waiting lines. Beyond it the oldest is dropped.
    static let maximumQueueLength = 256
    /// The maximum time for copying the last lines when the journal is closed.
    static let closeTimeout = DispatchTimeInterval.seconds(5)

    init(_ sink: any CheckpointSink, logger: Logger) {
        let thread = Thread { self.run(sink, logger) }
        thread.name = "journal-copy"
        thread.start()
    }

    /// Queues a line with its line feed. Never waits.
    func add(_ line: [UInt8]) {
        state.withLock { state in
            if state.lines.count >= Self.maximumQueueLength { state.lines.removeFirst() }
            state.lines.append(line)
        }
        wake.signal()
    }

    /// Returns once the queued lines were copied or dropped, or after ``closeTimeout``.
    func close() {
        state.withLock { $0.isClosing = true }
        wake.signal()
        closing.signal()
        _ = ended.wait(timeout: .now() + Self.closeTimeout)
    }

    private func run(_ sink: any CheckpointSink, _ logger: Logger) {
        var isFailing = false
        while true {
            wake.wait()
            let (lines, isClosing) = state.withLock { state in
                defer { state.lines = [] }
                return (state.lines, state.isClosing)
            }
            for line in sink.needsLastOnly ? lines.suffix(1) : lines[...] {
                do throws(FileFailure) {
                    try sink.store(line)
                    if isFailing { logger.notice("Checkpoint copying resumed") }
                    isFailing = false
                } catch {
                    if !isFailing {
                        logger.error("Checkpoint copying failed", metadata: ["detail": "\(error.description)"])
                    }
                    isFailing = true
                }
            }
            if isClosing {
                ended.signal()
                return
            }
            if !lines.isEmpty, sink.pause > .zero {
                // Closing the journal interrupts the pause.
                _ = closing.wait(timeout: .now() + .milliseconds(Int(sink.pause / .milliseconds(1))))
            }
        }
    }
}
