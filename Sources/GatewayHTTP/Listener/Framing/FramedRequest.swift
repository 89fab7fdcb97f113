internal import Gateway
internal import GatewayCore
internal import NIOCore

/// A complete request of HTTP/1.1 or HTTP/2 without its framing. It is a class because it is large and several types
/// pass it on.
final class FramedRequest {
    private static let root = ByteBuffer(string: "/")

    /// The parsed head, as ranges in `headBytes`.
    let head: RequestHead
    /// The bytes that the ranges of `head` refer to: the HTTP/1.1 head as received, or those values of an HTTP/2 head
    /// that the gateway uses.
    let headBytes: ByteBuffer
    /// The body after transfer decoding; empty once the request pipeline has it.
    private(set) var body: ByteBuffer

    init(head: RequestHead, headBytes: ByteBuffer, body: ByteBuffer) {
        self.head = head
        self.headBytes = headBytes
        self.body = body
    }

    /// Returns the request in the form that the request pipeline takes, which gets the body. The values are slices, not
    /// copies.
    func received(id: CallID, peer: Peer, allowsCredentials: Bool) -> ReceivedRequest {
        defer { body = ByteBuffer() }
        return ReceivedRequest(
            id: id, method: head.method, path: path,
            query: head.query.map(slice),
            authorization: value(head.authorization), contentType: value(head.contentType),
            contentEncoding: value(head.contentEncoding), idempotencyKey: value(head.idempotencyKey),
            traceparent: head.trace.map { value($0.parent) } ?? .absent, tracestate: head.trace.flatMap(tracestate),
            body: body, peer: peer, allowsCredentials: allowsCredentials)
    }

    /// Returns the client that a trusted proxy reports; nil if the peer is not a trusted proxy.
    func origin(behind peer: Peer, _ trust: TrustedProxies) -> RequestOrigin? {
        head.forwarding?.origin(behind: peer, in: headBytes, trust: trust)
    }

    /// Returns the value of `tracestate`; nil if the field is absent. Several lines are joined with commas (RFC 9110,
    /// section 5.3).
    private func tracestate(_ trace: TraceFields) -> ByteBuffer? {
        guard let first = trace.states.first else { return nil }
        return trace.states.dropFirst().reduce(into: slice(first)) { list, line in
            list.writeStaticString(",")
            list.writeImmutableBuffer(slice(line))
        }
    }

    /// The path as received, or `/` if the target has no path.
    var path: ByteBuffer { head.path.isEmpty ? Self.root : slice(head.path) }

    private func slice(_ range: Range<Int>) -> ByteBuffer {
        // The parser has created the range from the same bytes, so the slice exists.
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
