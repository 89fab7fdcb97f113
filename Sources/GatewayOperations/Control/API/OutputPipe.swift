internal import Synchronization

/// Passes the results of an operation to its response. The operation waits while the response has not read the last
/// ones, and fails once the response is closed.
///
/// One task writes and one task reads.
final class OutputPipe: Sendable {
    /// A part of what an operation returns.
    enum Event: Sendable, Hashable {
        case output(ControlOutput)
        /// The operation has ended: the reason of its failure; nil if it succeeded.
        case end(ControlError?)
    }

    private struct State {
        var events: [Event] = []
        var reader: CheckedContinuation<Event, Never>?
        var writer: CheckedContinuation<Bool, Never>?
        var isClosed = false
    }

    private let state = Mutex(State())

    /// The number of results that wait for the reader.
    private static let capacity = 16

    /// Writes a result. Throws if the pipe is closed.
    func write(_ output: ControlOutput) async throws(ControlError) {
        let isOpen = await withCheckedContinuation { (writer: CheckedContinuation<Bool, Never>) in
            let result: Bool? = state.withLock { state in
                if state.isClosed { return false }
                if let reader = state.reader.take() {
                    reader.resume(returning: .output(output))
                    return true
                }
                state.events.append(.output(output))
                if state.events.count < Self.capacity { return true }
                state.writer = writer
                return nil
            }
            if let result { writer.resume(returning: result) }
        }
        guard isOpen else { throw .unavailable("The peer has disconnected.") }
    }

    /// Writes the end of the operation. Nothing may follow.
    func finish(_ error: ControlError?) {
        state.withLock { state in
            if let reader = state.reader.take() {
                reader.resume(returning: .end(error))
            } else {
                state.events.append(.end(error))
            }
        }
    }

    /// Reads the next event. Nothing may be read after the end.
    func next() async -> Event {
        await withCheckedContinuation { reader in
            let event: Event? = state.withLock { state in
                if state.events.isEmpty {
                    state.reader = reader
                    return nil
                }
                if let writer = state.writer.take() { writer.resume(returning: !state.isClosed) }
                return state.events.removeFirst()
            }
            if let event { reader.resume(returning: event) }
        }
    }

    /// Closes the pipe, because nobody reads it any more. A waiting write fails.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.writer.take()?.resume(returning: false)
        }
    }
}
