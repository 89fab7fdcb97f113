internal import NIOCore

/// Where one connection's dialogue stands, and what a frame means there. Nothing in it waits or does I/O.
struct DialogueState {
    /// What a frame brought.
    enum Step {
        case greeted(Hello)
        case judged(Verdict)
    }

    private enum State {
        case awaitingHello
        case idle
        case asking(id: String)
        case ended
    }

    private var state = State.awaitingHello

    /// Whether the process may close now without having left anything open.
    var owesNothing: Bool {
        switch state {
        case .idle, .ended: true
        case .awaitingHello, .asking: false
        }
    }

    /// A request goes out. False where none may.
    mutating func ask(_ id: String) -> Bool {
        guard case .idle = state else { return false }
        state = .asking(id: id)
        return true
    }

    /// A frame came in. After a fault nothing that comes is looked at any more.
    mutating func receive(_ frame: ByteBuffer) throws(ProtocolFault) -> Step? {
        do throws(ProtocolFault) {
            switch state {
            case .awaitingHello:
                let hello = try Hello(frame)
                state = .idle
                return .greeted(hello)
            case .asking(let id):
                let verdict = try Verdict(frame, on: id)
                state = .idle
                return .judged(verdict)
            case .idle:
                throw .unsolicited
            case .ended:
                return nil
            }
        } catch {
            state = .ended
            throw error
        }
    }

    /// The connection is over. False where it was already.
    mutating func end() -> Bool {
        if case .ended = state { return false }
        state = .ended
        return true
    }
}
