public import Gateway
public import GatewayCore
internal import NIOCore

extension Peer {
    /// The peer of tests: 192.0.2.1, an address for documentation (RFC 5737).
    public static let documentation = Peer.documentation(1)

    /// Others like it, as many as a test needs: the address that is so many after 192.0.2.0.
    public static func documentation(_ number: UInt32) -> Peer {
        let address = 0xC000_0200 + number
        let bytes = stride(from: 24, through: 0, by: -8).map { String(address >> UInt32($0) & 0xFF) }
        return Peer(address: .v4(address), text: bytes.joined(separator: "."))
    }
}

extension ReceivedRequest.FieldValue {
    /// A field that is there once.
    public static func text(_ value: String) -> Self { .single(ByteBuffer(string: value)) }

    /// Basic credentials (RFC 7617).
    public static func basic(_ user: String, _ password: String) -> Self {
        let pair = Base64.encode(Array("\(user):\(password)".utf8), .standard)
        return .single(ByteBuffer(bytes: Array("Basic ".utf8) + pair))
    }
}

extension ReceivedRequest {
    /// A request from readable parts: `ReceivedRequest("POST /api/register?handle=…", as: "alice")`.
    ///
    /// - Parameters:
    ///   - line: method and target. The target is split at its first `?`, and nothing else is done to it.
    ///   - user: whose Basic credential to send, with the password of `TestGateway`; nil for none.
    ///   - authorization: overrides `user`.
    ///   - number: tells the calls of a test apart.
    public init(
        _ line: String, as user: String? = nil, authorization: FieldValue? = nil, contentType: FieldValue = .absent,
        contentEncoding: FieldValue = .absent, idempotencyKey: FieldValue = .absent, body: [UInt8] = [],
        peer: Peer = .documentation, number: UInt64 = 1,
        credentialsMayTravel: Bool = true
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
            credentialsMayTravel: credentialsMayTravel)
    }

    /// The same with a body of text, which is JSON as far as the content type says.
    public init(_ line: String, as user: String? = nil, json body: String, number: UInt64 = 1) {
        self.init(
            line, as: user, contentType: .text("application/json"), body: Array(body.utf8), number: number)
    }
}
