internal import GatewayCore

/// What a signed line of the journal states about its chain: this line was the one of that number, with that hash.
///
/// The signature is Ed25519 (RFC 8032) over five lines of text, each with its line feed: `notify-gateway journal`, the kind
/// (`checkpoint` or `retired`), the number, the hash in hexadecimal digits, and the time of the statement as in `at`. So
/// neither kind can be taken for the other, and nothing else that a key might sign for either.
struct JournalStatement: Sendable, Hashable {
    /// What it is for.
    enum Kind: String, Sendable, Hashable {
        /// The journal goes at least so far.
        case checkpoint
        /// Everything up to there was removed.
        case retired
    }

    let kind: Kind
    /// The number of the line that it is about.
    let through: UInt64
    /// That line's hash: 64 hexadecimal digits.
    let head: [UInt8]
    /// When it is made, in RFC 3339.
    let time: String

    /// The bytes that are signed.
    var message: [UInt8] {
        var bytes = Array("notify-gateway journal\n\(kind.rawValue)\n\(through)\n".utf8)
        bytes += head
        bytes += "\n\(time)\n".utf8
        return bytes
    }
}

/// A statement with the signature under it, as a line of the journal carries it.
struct SignedStatement: Sendable, Hashable {
    let statement: JournalStatement
    /// Which key signed it: 16 hexadecimal digits.
    let keyID: String
    let signature: [UInt8]

    /// Whether one of the keys signed just this.
    func isGood(under keys: [Ed25519.PublicKey]) -> Bool {
        keys.contains { $0.journalID == keyID && $0.verifies(signature, of: statement.message) }
    }
}

extension Ed25519.PublicKey {
    /// How lines of the journal name the key: the first 8 bytes of its SHA-256 in hexadecimal digits.
    var journalID: String { SHA256.digest(bytes).map { String(hexEncoding: $0.prefix(8)) } ?? "" }
}

extension Ed25519.PrivateKey {
    /// The statement under this key, or nil where libcrypto fails.
    func sign(_ statement: JournalStatement) -> SignedStatement? {
        signature(of: statement.message).map {
            SignedStatement(statement: statement, keyID: publicKey.journalID, signature: $0)
        }
    }
}
