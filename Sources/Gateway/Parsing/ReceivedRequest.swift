public import GatewayCore
public import NIOCore

/// A complete request as the listener hands it over: well framed, within the size limits, not yet understood.
///
/// The listener makes it, on the event loop that `Gateway.serve(_:)` then runs on. Only the few header fields that decide
/// anything are here; all others end at the listener. A value holds the field's bytes without surrounding white space.
@dynamicMemberLookup
public struct ReceivedRequest: Sendable {
    /// What the listener has found.
    public struct Fields: Sendable {
        /// The call's id, made by the listener.
        public var id: CallID
        /// The method, or nil for one that no route knows.
        public var method: HTTPMethod?
        /// The path as sent, from `/` up to but not including `?`. Absolute-form targets are reduced to this by the listener.
        public var path: ByteBuffer
        /// What follows the first `?`, without it; nil where there is none.
        public var query: ByteBuffer?
        /// `Authorization`; more than one such field is `.repeated`.
        public var authorization: FieldValue
        /// `Content-Type`.
        public var contentType: FieldValue
        /// `Content-Encoding`.
        public var contentEncoding: FieldValue
        /// `Idempotency-Key`.
        public var idempotencyKey: FieldValue
        /// `traceparent`, where the peer is trusted to say it.
        public var traceparent: FieldValue
        /// `tracestate`, its lines joined by commas, where the peer is trusted to say it; nil where it is not there.
        public var tracestate: ByteBuffer?
        /// The body, complete, of at most the listener's limit.
        public var body: ByteBuffer
        /// Who is at the other end.
        public var peer: Peer
        /// Whether the peer's address is that of one client: not where it is a listed proxy's.
        public var countsByAddress = true
        /// Whether a credential may be judged that came this way: loopback, Unix socket, TLS, or allowed by configuration.
        public var credentialsMayTravel: Bool
        /// Says when nobody waits for the answer any more; nil where that is not told, and then the call goes on to its end.
        public var departure: ClientDeparture?
    }

    // It goes from the listener into a task.
    @usableFromInline var fields: Boxed<Fields>

    /// What was found of one thing.
    @inlinable
    public subscript<Value>(dynamicMember path: WritableKeyPath<Fields, Value>) -> Value {
        get { fields.value[keyPath: path] }
        set { fields.value[keyPath: path] = newValue }
    }

    /// A header field that may occur once at the most.
    public enum FieldValue: Sendable, Hashable {
        /// The field is not there.
        case absent
        /// The field is there once.
        case single(ByteBuffer)
        /// The field is there more than once, which no field here may be.
        case repeated
    }

    /// Puts a request together; the listener and tests do.
    public init(
        id: CallID, method: HTTPMethod?, path: ByteBuffer, query: ByteBuffer? = nil,
        authorization: FieldValue = .absent, contentType: FieldValue = .absent, contentEncoding: FieldValue = .absent,
        idempotencyKey: FieldValue = .absent, traceparent: FieldValue = .absent, tracestate: ByteBuffer? = nil,
        body: ByteBuffer = ByteBuffer(), peer: Peer, credentialsMayTravel: Bool, departure: ClientDeparture? = nil
    ) {
        fields = Boxed(
            Fields(
                id: id, method: method, path: path, query: query, authorization: authorization,
                contentType: contentType, contentEncoding: contentEncoding, idempotencyKey: idempotencyKey,
                traceparent: traceparent, tracestate: tracestate, body: body, peer: peer,
                credentialsMayTravel: credentialsMayTravel, departure: departure))
    }
}
