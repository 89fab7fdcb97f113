internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A request to the process to verify a credential.
struct Request: Sendable {
    /// The greatest length of a user name and of a password in bytes.
    static let longestText = 1024
    /// The greatest length of a token in bytes.
    static let longestToken = 16_384

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
        return Frame.around(json)
    }

    private static func isText(_ secret: Secret, upTo longest: Int) -> Bool {
        guard (1...longest).contains(secret.count) else { return false }
        // C libraries read a password up to its first NUL.
        return secret.withUnsafeBytes { !$0.contains(0) && String(validating: $0, as: UTF8.self) != nil }
    }
}
