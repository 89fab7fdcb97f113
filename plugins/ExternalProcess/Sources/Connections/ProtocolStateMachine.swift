internal import NIOCore

/// The state machine of one connection. It neither waits nor does I/O.
///
/// - `awaitingHello`: the initial state. A valid hello leads to `idle`.
/// - `idle`: sending a request leads to `awaitingReply`. A frame is a fault.
/// - `awaitingReply`: the reply to that request leads back to `idle`.
/// - `closed`: the final state, reached from every other state by a fault or by `close()`. Further frames are ignored.
struct ProtocolStateMachine {
    /// The event that a valid frame causes.
    enum Step {
        case hello(Hello)
        case reply(ProcessReply)
    }

    private enum State {
        case awaitingHello
        case idle
        case awaitingReply(ProcessRequest.Expectation)
        case closed
    }

    private var state = State.awaitingHello

    /// Whether the process may close the connection now without a fault.
    var hasNoOutstandingFrame: Bool {
        switch state {
        case .idle, .closed: true
        case .awaitingHello, .awaitingReply: false
        }
    }

    /// Records that a request is sent. Returns false, without a change, if the connection is not idle.
    mutating func sendRequest(_ expectation: ProcessRequest.Expectation) -> Bool {
        guard case .idle = state else { return false }
        state = .awaitingReply(expectation)
        return true
    }

    /// Handles a received frame. Returns nil if the connection is closed.
    ///
    /// - Throws: the fault of the frame, which closes the connection.
    mutating func receive(_ frame: ByteBuffer) throws(ProtocolError) -> Step? {
        do throws(ProtocolError) {
            switch state {
            case .awaitingHello:
                let hello = try Hello(frame)
                state = .idle
                return .hello(hello)
            case .awaitingReply(let expectation):
                let reply = try expectation.reply(frame)
                state = .idle
                return .reply(reply)
            case .idle:
                throw .unsolicited
            case .closed:
                return nil
            }
        } catch {
            state = .closed
            throw error
        }
    }

    /// Marks the connection as closed. Returns false if it already was.
    mutating func close() -> Bool {
        if case .closed = state { return false }
        state = .closed
        return true
    }
}
