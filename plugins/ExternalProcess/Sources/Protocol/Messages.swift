internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The first message on a connection. The gateway offers its versions, and the process selects one.
struct Hello: Sendable, Hashable {
    /// The versions that this gateway supports.
    static let versions = [1]

    /// The name that the process states, for the log only.
    let name: String
    /// The kinds of credential that the process accepts.
    let takes: Set<CredentialKind>

    /// The gateway's hello as a frame.
    static var frame: ByteBuffer {
        Frame.encode(
            JSONWriter.bytes(
                of: .object([
                    .init("type", .string("hello")), .init("versions", .array(versions.map { .number("\($0)") })),
                    .init("gateway", .string("notify-gateway")),
                ])))
    }

    /// Parses the process's hello. Ignores unknown kinds, which a later protocol may define.
    init(_ frame: ByteBuffer) throws(ProtocolError) {
        let object = try Frame.decodeObject(frame)
        guard object["type"]?.string == "hello", let name = object["name"]?.string,
            (1...64).contains(name.utf8.count), case .array(let kinds) = object["takes"]
        else { throw .notHello }
        guard let version = object["version"]?.integer, Self.versions.contains(where: { $0 == version }) else {
            throw .unsupportedVersion
        }
        let words = kinds.compactMap(\.string)
        guard words.count == kinds.count else { throw .notHello }
        self.name = name
        takes = Set(words.compactMap(CredentialKind.init(rawValue:))).intersection(DelegationSettings.delegableKinds)
    }
}

/// A request to the process to verify a credential.
struct Request: Sendable {
    /// The maximum length of a user name and of a password in bytes.
    static let maximumTextLength = 1024
    /// The maximum length of a token in bytes.
    static let maximumTokenLength = 16_384

    /// 32 random hexadecimal digits that the verdict must repeat.
    let id: String
    let kind: CredentialKind
    private let user: String?
    private let secret: Secret
    private let peer: Peer

    /// Creates a request; returns nil if the credential is empty, too long, contains a NUL, or is not UTF-8.
    init?(_ credential: Credential, peer: Peer) {
        switch credential {
        case .password(let login, let password):
            guard (1...Self.maximumTextLength).contains(login.text.utf8.count),
                Self.isText(password, upTo: Self.maximumTextLength)
            else { return nil }
            user = login.text
            secret = password
        case .bearer(let token):
            guard Self.isText(token, upTo: Self.maximumTokenLength) else { return nil }
            user = nil
            secret = token
        case .certificate:
            return nil
        }
        kind = credential.kind
        self.peer = peer
        var generator = SystemRandomNumberGenerator()
        id = (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Returns the request's frame, with the remaining time until the deadline.
    func frame(timeLeft: TimeAmount) -> ByteBuffer {
        var json: [UInt8] = []
        func member(_ name: String, _ value: String) {
            json += #","\#(name)":"#.utf8
            JSONWriter.write(string: value, to: &json)
        }
        json += #"{"type":"request""#.utf8
        member("id", id)
        member("kind", kind.rawValue)
        if let user { member("user", user) }
        json += user == nil ? #","token":"#.utf8 : #","password":"#.utf8
        secret.withUnsafeBytes { JSONWriter.write(stringOfUTF8: $0, to: &json) }
        member("peer", peer.text)
        json += #","timeout-ms":\#(max(1, timeLeft.nanoseconds / 1_000_000))}"#.utf8
        return Frame.encode(json)
    }

    private static func isText(_ secret: Secret, upTo maximum: Int) -> Bool {
        guard (1...maximum).contains(secret.count) else { return false }
        // C libraries read a password up to its first NUL.
        return secret.withUnsafeBytes { !$0.contains(0) && String(validating: $0, as: UTF8.self) != nil }
    }
}

/// The process's response to a request.
enum AuthenticationReply: Sendable, Hashable {
    /// The credential is valid. The name is as the process wrote it; invalid group names are dropped.
    case accepted(user: String, groups: Set<GroupName>)
    /// The credential belongs to the process and is invalid.
    case rejected(InvalidCredentialReason)
    /// The credential does not belong to the process.
    case notMine
    /// The process cannot decide, or could not be queried.
    case unavailable(OutageReason)

    /// Parses the verdict on the request with this id.
    init(_ frame: ByteBuffer, on id: String) throws(ProtocolError) {
        let object = try Frame.decodeObject(frame)
        guard object["type"]?.string == "verdict", let answered = object["id"]?.string else { throw .malformedVerdict }
        guard answered == id else { throw .wrongRequestID }
        switch object["verdict"]?.string {
        case "accepted":
            guard let user = object["user"]?.string, !user.isEmpty else { throw .malformedVerdict }
            self = .accepted(user: user, groups: try Self.groups(object["groups"]))
        case "rejected":
            // An unknown or missing reason still rejects.
            self = .rejected(object["reason"]?.string.flatMap(InvalidCredentialReason.init(rawValue:)) ?? .wrong)
        case "not-mine":
            self = .notMine
        case "unavailable":
            self = .unavailable(object["reason"]?.string.flatMap(OutageReason.init(rawValue:)) ?? .failed)
        default:
            throw .malformedVerdict
        }
    }

    private static func groups(_ value: JSONValue?) throws(ProtocolError) -> Set<GroupName> {
        switch value {
        case nil, .null: return []
        case .array(let values):
            let words = values.compactMap(\.string)
            guard words.count == values.count else { throw .malformedVerdict }
            return Set(words.compactMap(GroupName.init))
        case .bool, .number, .string, .object: throw .malformedVerdict
        }
    }
}
