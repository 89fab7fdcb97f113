public import GatewayCore
public import GatewaySupport
public import NIOCore

/// A complete request from the listener: framed, within the size limits, and not parsed yet.
///
/// The listener creates it on the event loop that `Gateway.serve(_:)` then runs on. It contains only the header fields
/// that the gateway uses; the listener discards all others. The bytes of a field value have no surrounding white space.
@dynamicMemberLookup
public struct ReceivedRequest: Sendable {
    /// The parts of the request. They are read and written through `ReceivedRequest` itself by dynamic member lookup.
    public struct Fields: Sendable {
        /// The call's id, assigned by the listener.
        public var id: CallID
        /// The method; nil for one that no route uses.
        public var method: HTTPMethod?
        /// The path as sent, from the first `/` up to, but not including, `?`. The listener reduces an absolute-form
        /// target to it.
        public var path: ByteBuffer
        /// The text after the first `?`; nil if there is none.
        public var query: ByteBuffer?
        /// `Authorization`; several such fields are `.repeated`.
        public var authorization: FieldValue
        /// The verified client certificate; nil if there is none. The listener may omit it for a request with
        /// `Authorization`, whose credential is used instead.
        public var certificate: ClientCertificateResult?
        /// `Content-Type`.
        public var contentType: FieldValue
        /// `Content-Encoding`.
        public var contentEncoding: FieldValue
        /// `Idempotency-Key`.
        public var idempotencyKey: FieldValue
        /// `traceparent` from a trusted peer.
        public var traceparent: FieldValue
        /// `tracestate` from a trusted peer, its lines joined by commas; nil if it is absent.
        public var tracestate: ByteBuffer?
        /// The complete body, within the listener's limit.
        public var body: ByteBuffer
        /// The client.
        public var peer: Peer
        /// Whether the peer's address belongs to one client; false if it is a trusted proxy's.
        public var addressIdentifiesClient = true
        /// Whether a credential on this connection may be verified: over loopback, a Unix socket or TLS, or if the
        /// configuration allows it.
        public var allowsCredentials: Bool
        /// The disconnect signal of the client; nil if disconnects are not detected, in which case the call always
        /// completes.
        public var clientDisconnect: ClientDisconnect?
    }

    // Boxed, so that passing a request from the listener into a task copies one reference.
    @usableFromInline var fields: CopyOnWriteBox<Fields>

    /// Reads or writes one part.
    @inlinable
    public subscript<Value>(dynamicMember path: WritableKeyPath<Fields, Value>) -> Value {
        get { fields.value[keyPath: path] }
        set { fields.value[keyPath: path] = newValue }
    }

    /// The value of a header field that may occur at most once.
    public enum FieldValue: Sendable, Hashable {
        /// The field is absent.
        case absent
        /// The field occurs once.
        case single(ByteBuffer)
        /// The field occurs several times, which is an error for every field here.
        case repeated
    }

    /// Creates a request. Called by the listener, for dry runs, and by tests.
    public init(
        id: CallID, method: HTTPMethod?, path: ByteBuffer, query: ByteBuffer? = nil,
        authorization: FieldValue = .absent, certificate: ClientCertificateResult? = nil,
        contentType: FieldValue = .absent, contentEncoding: FieldValue = .absent, idempotencyKey: FieldValue = .absent,
        traceparent: FieldValue = .absent, tracestate: ByteBuffer? = nil,
        body: ByteBuffer = ByteBuffer(), peer: Peer, allowsCredentials: Bool, clientDisconnect: ClientDisconnect? = nil
    ) {
        fields = CopyOnWriteBox(
            Fields(
                id: id, method: method, path: path, query: query, authorization: authorization,
                certificate: certificate, contentType: contentType, contentEncoding: contentEncoding,
                idempotencyKey: idempotencyKey,
                traceparent: traceparent, tracestate: tracestate, body: body, peer: peer,
                allowsCredentials: allowsCredentials, clientDisconnect: clientDisconnect))
    }
}
