internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A request to the process to verify a credential.
struct Request: Sendable {
    /// The maximum length of a user name and of a password in bytes.
    static let maximumTextLength = 1024
    /// The maximum length of a token in bytes.
    static let maximumTokenLength = 16_384

    /// The id that the verdict must repeat.
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
        id = RequestID.random()
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
    /// The process cannot decide.
    case unavailable(OutageReason)

    /// Parses the verdict on the request with this id.
    init(_ frame: ByteBuffer, on id: String) throws(ProtocolError) {
        let object = try Frame.decodeObject(frame)
        guard object["type"]?.string == "verdict", let answered = object["id"]?.string else { throw .malformedVerdict }
        guard answered == id else { throw .wrongRequestID }
        switch object["verdict"]?.string {
        case "accepted":
            guard let user = object["user"]?.string, !user.isEmpty else { throw .malformedVerdict }
            guard let groups = Set<GroupName>(ofMember: object["groups"]) else { throw .malformedVerdict }
            self = .accepted(user: user, groups: groups)
        case "rejected":
            // An unknown or missing reason still rejects.
            self = .rejected(object["reason"]?.string.flatMap(InvalidCredentialReason.init(rawValue:)) ?? .wrong)
        case "not-mine":
            self = .notMine
        case "unavailable":
            let reason = OutageReason(ofMember: object["reason"])
            // The process has received the credential, so it may have verified it, whatever it says.
            self = .unavailable(reason.mayHaveVerified ? reason : .failed)
        default:
            throw .malformedVerdict
        }
    }
}

extension Set<GroupName> {
    /// Reads the member `groups`; returns nil unless it is a list of texts or absent. Drops texts that are no group
    /// names.
    init?(ofMember value: JSONValue?) {
        switch value {
        case nil, .null: self = []
        case .array(let values):
            let words = values.compactMap(\.string)
            guard words.count == values.count else { return nil }
            self = Set(words.compactMap(GroupName.init))
        case .bool, .number, .string, .object: return nil
        }
    }
}

extension OutageReason {
    /// Reads the member `reason`. An unknown or missing reason is `failed`.
    init(ofMember value: JSONValue?) { self = value?.string.flatMap(OutageReason.init(rawValue:)) ?? .failed }
}
