internal import GatewayCore
internal import NIOCore

/// A credential that the process shall judge.
struct Request: Sendable {
    /// The most bytes of a user name that is asked about, and of a password.
    static let longestText = 1024
    /// The most bytes of a token.
    static let longestToken = 16_384

    /// 32 hexadecimal digits that the verdict must repeat; nobody can foretell them.
    let id: String
    let kind: CredentialKind
    private let user: String?
    private let secret: Secret
    private let peer: Peer

    /// A request, or nil where the credential has no JSON: not UTF-8, empty, too long.
    init?(_ credential: Credential, peer: Peer) {
        switch credential {
        case .password(let login, let password):
            guard (1...Self.longestText).contains(login.text.utf8.count),
                Self.isText(password, upTo: Self.longestText)
            else { return nil }
            user = login.text
            secret = password
        case .bearer(let token):
            guard Self.isText(token, upTo: Self.longestToken) else { return nil }
            user = nil
            secret = token
        }
        kind = credential.kind
        self.peer = peer
        var generator = SystemRandomNumberGenerator()
        id = (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// The frame, with what is left of the time.
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
        return Frame.around(json)
    }

    private static func isText(_ secret: Secret, upTo longest: Int) -> Bool {
        guard (1...longest).contains(secret.count) else { return false }
        // C libraries read a password up to its first NUL.
        return secret.withUnsafeBytes { !$0.contains(0) && String(validating: $0, as: UTF8.self) != nil }
    }
}
