internal import Dispatch
internal import Foundation
internal import Logging
internal import Synchronization

/// Takes checkpoints to their second place on a thread of its own: a mount that hangs there must not hold the journal up.
///
/// A line that cannot be delivered is dropped, and said so in the log once until one can be: the next one vouches for all
/// that came before it.
final class CheckpointCopier: Sendable {
    private struct State {
        var lines: [[UInt8]] = []
        var isClosing = false
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let closing = DispatchSemaphore(value: 0)

    /// How many lines may wait; beyond it the oldest goes.
    static let longestQueue = 256
    /// How long the last lines may take when the journal is closed.
    static let patience = DispatchTimeInterval.seconds(5)

    init(_ sink: any CheckpointSink, logger: Logger) {
        let thread = Thread { self.run(sink, logger) }
        thread.name = "journal-copy"
        thread.start()
    }

    /// Takes a line, with its line feed. Never waits.
    func add(_ line: [UInt8]) {
        state.withLock { state in
            if state.lines.count >= Self.longestQueue { state.lines.removeFirst() }
            state.lines.append(line)
        }
        wake.signal()
    }

    /// Returns once the lines so far were delivered or dropped, or after some seconds.
    func close() {
        state.withLock { $0.isClosing = true }
        wake.signal()
        closing.signal()
        _ = ended.wait(timeout: .now() + Self.patience)
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
                    try sink.take(line)
                    if isFailing { logger.notice("checkpoints are copied again") }
                    isFailing = false
                } catch {
                    if !isFailing {
                        logger.error("checkpoints cannot be copied", metadata: ["detail": "\(error.description)"])
                    }
                    isFailing = true
                }
            }
            if isClosing {
                ended.signal()
                return
            }
            if !lines.isEmpty, sink.pause > .zero {
                // The end of the journal ends the wait.
                _ = closing.wait(timeout: .now() + .milliseconds(Int(sink.pause / .milliseconds(1))))
            }
        }
    }
}
