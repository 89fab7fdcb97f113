public import GatewayCore

/// What the client is told. The listener adds `Date`, `Content-Length`, `X-Request-Id` and `Connection`, and nothing else.
public struct Answer: Sendable, Hashable {
    /// The status code.
    public var status: Int
    /// `Content-Type`; nil where there is no body.
    public var contentType: String?
    /// Further header fields, in order. The gateway makes names and values itself; no byte of a peer is in them unescaped.
    public var fields: [Field]
    /// The body.
    public var body: [UInt8]
    /// The refusal that it tells of, for metrics; nil where the call was carried out. Not sent.
    public internal(set) var refusal: RefusalCode?

    /// One header field.
    public struct Field: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

        /// A field of the gateway's own making.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// An answer from its parts.
    public init(status: Int, contentType: String? = nil, fields: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = body
    }
}
