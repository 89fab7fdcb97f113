public import Gateway
public import GatewayCore
internal import NIOCore
internal import Synchronization

/// A backend that answers as the test says and remembers every byte that it was sent, in order.
public final class ScriptedBackend: Backend {
    private struct State {
        var answers: [BackendAnswer] = []
        var answer: @Sendable (SeenRequest) async -> BackendAnswer
        var unreadable: [[UInt8]] = []
        var repeatable: [Bool] = []
    }

    private let timeline: Timeline
    private let state: Mutex<State>

    /// The id that `isContent` gives to whoever asks for one; the text is within the grammar.
    public static let givenID = RegistrationID("7260336227650468927-4200236381151834034-1")!

    /// A backend; unless told otherwise it carries everything out, as a classic one answers.
    public init(
        timeline: Timeline = Timeline(),
        answering answer: @escaping @Sendable (SeenRequest) async -> BackendAnswer = ScriptedBackend.isContent
    ) {
        self.timeline = timeline
        self.state = Mutex(State(answer: answer))
    }

    /// 200 to everything; a `POST` without a body is given `givenID` in quotation marks.
    public static let isContent: @Sendable (SeenRequest) async -> BackendAnswer = { request in
        request.method == "POST" && request.body.isEmpty ? .status(200, "\"\(givenID)\"") : .status(200)
    }

    /// These answers are given first, one a request; after them the closure answers again.
    public func queue(_ answers: BackendAnswer...) { state.withLock { $0.answers += answers } }

    /// What it was sent, in order.
    public var requests: [SeenRequest] {
        timeline.events.compactMap { if case .exchanged(let request) = $0 { request } else { nil } }
    }

    /// What it was sent and is no HTTP/1.1 request. Always empty, unless the gateway is broken.
    public var unreadable: [[UInt8]] { state.withLock(\.unreadable) }

    /// For each request whether a client of the backend may repeat it.
    public var repeatable: [Bool] { state.withLock(\.repeatable) }

    /// Answers, after having written down what came.
    public func exchange(_ request: borrowing RecordedRequest) async -> BackendAnswer {
        let bytes = request.bytes
        let mayBeRepeated = request.mayBeRepeated
        guard let seen = SeenRequest(bytes) else {
            state.withLock { $0.unreadable.append(Array(bytes.readableBytesView)) }
            return .broken("not a request")
        }
        timeline.add(.exchanged(seen))
        let (queued, answer) = state.withLock { state in
            state.repeatable.append(mayBeRepeated)
            return (state.answers.isEmpty ? nil : state.answers.removeFirst(), state.answer)
        }
        if let queued { return queued }
        return await answer(seen)
    }
}

extension BackendAnswer {
    /// A complete answer.
    public static func status(_ status: Int, _ body: String = "") -> BackendAnswer {
        .answered(BackendResponse(status: status, body: ByteBuffer(string: body)))
    }
}
