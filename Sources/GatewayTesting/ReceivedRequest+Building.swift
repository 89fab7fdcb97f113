public import Gateway
public import GatewayCore
internal import GatewaySupport
internal import NIOCore

extension Peer {
    /// The default peer: 192.0.2.1, an address for documentation (RFC 5737).
    public static let documentation = Peer.documentation(1)

    /// Returns another peer: 192.0.2.0 plus the number.
    public static func documentation(_ number: UInt32) -> Peer {
        let address = 0xC000_0200 + number
        let bytes = stride(from: 24, through: 0, by: -8).map { String(address >> UInt32($0) & 0xFF) }
        return Peer(address: .v4(address), text: bytes.joined(separator: "."))
    }
}

extension ReceivedRequest.FieldValue {
    /// Returns a field that is present once.
    public static func text(_ value: String) -> Self { .single(ByteBuffer(string: value)) }

    /// Returns Basic credentials (RFC 7617).
    public static func basic(_ user: String, _ password: String) -> Self {
        let pair = Base64.encode(Array("\(user):\(password)".utf8), .standard)
        return .single(ByteBuffer(bytes: Array("Basic ".utf8) + pair))
    }
}

extension ReceivedRequest {
    /// Creates a request from readable parts: `ReceivedRequest("POST /api/register?handle=…", as: "alice")`.
    ///
    /// - Parameters:
    ///   - line: the method and the target, which is split at its first `?` and otherwise unchanged.
    ///   - user: the user of the Basic credential, with the password of `TestGateway`; nil for no credential.
    ///   - authorization: overrides `user`.
    ///   - number: distinguishes the calls of a test.
    public init(
        _ line: String, as user: String? = nil, authorization: FieldValue? = nil, contentType: FieldValue = .absent,
        contentEncoding: FieldValue = .absent, idempotencyKey: FieldValue = .absent, body: [UInt8] = [],
        peer: Peer = .documentation, number: UInt64 = 1,
        allowsCredentials: Bool = true
    ) {
        let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let target = parts.count == 2 ? Array(parts[1].utf8) : []
        let mark = target.firstIndex(of: UInt8(ascii: "?"))
        let credential = user.map { FieldValue.basic($0, TestGateway.password(of: $0)) } ?? .absent
        self.init(
            id: CallID(process: 0xFEED, number: number), method: HTTPMethod(rawValue: parts[0]),
            path: ByteBuffer(bytes: target[..<(mark ?? target.endIndex)]),
            query: mark.map { ByteBuffer(bytes: target[($0 + 1)...]) }, authorization: authorization ?? credential,
            contentType: contentType, contentEncoding: contentEncoding, idempotencyKey: idempotencyKey,
            body: ByteBuffer(bytes: body), peer: peer,
            allowsCredentials: allowsCredentials)
    }

    /// Creates a request with a text body and the content type JSON.
    public init(_ line: String, as user: String? = nil, json body: String, number: UInt64 = 1) {
        self.init(
            line, as: user, contentType: .text("application/json"), body: Array(body.utf8), number: number)
    }
}
