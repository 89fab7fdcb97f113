public import GatewayCore

/// A destination of spans that keeps them.
public final class MemorySpans: SpanRecorder {
    private let received = AwaitableValue<[CallSpans]>([])

    /// Creates an empty destination.
    public init() {}

    /// Keeps the spans of a call.
    public func record(_ spans: CallSpans) { received.withLock { $0.append(spans) } }

    /// The spans of each call, in order.
    public var calls: [CallSpans] { received.current }

    /// Returns once the spans of this many calls have been recorded.
    public func wait(for count: Int) async { await received.wait { $0.count >= count } }
}
