public import Gateway
public import GatewayCore
internal import NIOCore
internal import Synchronization

/// A backend that responds as the test decides and records the bytes of every request, in order.
public final class ScriptedBackend: Backend {
    private struct State {
        var answers: [BackendResult] = []
        var response: @Sendable (CapturedRequest) async -> BackendResult
        var unreadable: [[UInt8]] = []
        var retryable: [Bool] = []
    }

    private let timeline: Timeline
    private let state: Mutex<State>

    /// The id that `alwaysSucceeds` returns for a reservation. It is valid by the grammar.
    public static let givenID = RegistrationID("7260336227650468927-4200236381151834034-1")!

    /// Creates a backend. By default it succeeds at everything, with a classic backend's responses.
    public init(
        timeline: Timeline = Timeline(),
        answering response: @escaping @Sendable (CapturedRequest) async -> BackendResult = ScriptedBackend
            .alwaysSucceeds
    ) {
        self.timeline = timeline
        self.state = Mutex(State(response: response))
    }

    /// Responds with 200 to everything. A `POST` without a body gets `givenID` in quotation marks.
    public static let alwaysSucceeds: @Sendable (CapturedRequest) async -> BackendResult = { request in
        request.method == "POST" && request.body.isEmpty ? .status(200, "\"\(givenID)\"") : .status(200)
    }

    /// Queues responses for the next requests. The closure responds again after them.
    public func queue(_ answers: BackendResult...) { state.withLock { $0.answers += answers } }

    /// The received requests, in order.
    public var requests: [CapturedRequest] {
        timeline.events.compactMap { if case .exchanged(let request) = $0 { request } else { nil } }
    }

    /// The received bytes that are not an HTTP/1.1 request. Empty unless the gateway is broken.
    public var unreadable: [[UInt8]] { state.withLock(\.unreadable) }

    /// Whether a client of the backend may repeat each request, in order.
    public var retryable: [Bool] { state.withLock(\.retryable) }

    /// Records the request and responds.
    public func exchange(_ request: borrowing RecordedRequest) async -> BackendResult {
        let bytes = request.bytes
        let isRetryable = request.isRetryable
        guard let seen = CapturedRequest(bytes) else {
            state.withLock { $0.unreadable.append(Array(bytes.readableBytesView)) }
            return .broken("not a request")
        }
        timeline.add(.exchanged(seen))
        let (queued, response) = state.withLock { state in
            state.retryable.append(isRetryable)
            return (state.answers.isEmpty ? nil : state.answers.removeFirst(), state.response)
        }
        if let queued { return queued }
        return await response(seen)
    }
}

extension BackendResult {
    /// Returns a complete response.
    public static func status(_ status: Int, _ body: String = "") -> BackendResult {
        .responded(BackendResponse(status: status, body: ByteBuffer(string: body)))
    }
}
