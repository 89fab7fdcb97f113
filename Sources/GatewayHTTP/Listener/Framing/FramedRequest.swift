internal import Gateway
internal import GatewayCore
internal import NIOCore

/// A complete request with its framing taken off. By reference: it goes through several hands, and is large.
final class FramedRequest {
    private static let root = ByteBuffer(string: "/")

    /// What the head says, as places in `headBytes`.
    let head: RequestHead
    /// The head as it came.
    let headBytes: ByteBuffer
    /// The body, its transfer coding undone.
    let body: ByteBuffer

    init(head: RequestHead, headBytes: ByteBuffer, body: ByteBuffer) {
        self.head = head
        self.headBytes = headBytes
        self.body = body
    }

    /// The request as the way of a call takes it; slices, no copies.
    func received(id: CallID, peer: Peer, allowsCredentials: Bool) -> ReceivedRequest {
        ReceivedRequest(
            id: id, method: head.method, path: path,
            query: head.query.map(slice),
            authorization: value(head.authorization), contentType: value(head.contentType),
            contentEncoding: value(head.contentEncoding), idempotencyKey: value(head.idempotencyKey),
            traceparent: head.trace.map { value($0.parent) } ?? .absent, tracestate: head.trace.flatMap(state),
            body: body, peer: peer, allowsCredentials: allowsCredentials)
    }

    /// Who is behind the peer, where that is a proxy that is believed.
    func origin(behind peer: Peer, _ trust: TrustedProxies) -> RequestOrigin? {
        head.forwarding?.origin(behind: peer, in: headBytes, trust: trust)
    }

    /// A list in several lines is the same as one in one (RFC 9110, section 5.3).
    private func state(_ trace: TraceFields) -> ByteBuffer? {
        guard let first = trace.states.first else { return nil }
        return trace.states.dropFirst().reduce(into: slice(first)) { list, line in
            list.writeStaticString(",")
            list.writeImmutableBuffer(slice(line))
        }
    }

    /// The path as sent.
    var path: ByteBuffer { head.path.isEmpty ? Self.root : slice(head.path) }

    private func slice(_ range: Range<Int>) -> ByteBuffer {
        // Places in a head lie within its bytes; the parser made both together.
        headBytes.getSlice(at: headBytes.readerIndex + range.lowerBound, length: range.count) ?? ByteBuffer()
    }

    private func value(_ occurrence: RequestHead.Occurrence) -> ReceivedRequest.FieldValue {
        switch occurrence {
        case .absent: .absent
        case .single(let range): .single(slice(range))
        case .repeated: .repeated
        }
    }
}

@available(*, unavailable)
extension FramedRequest: Sendable {}
