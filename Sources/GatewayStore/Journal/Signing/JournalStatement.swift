internal import GatewayCore
internal import GatewaySupport

/// The content of a signed line: the number and the hash of an earlier line.
///
/// The signature is Ed25519 (RFC 8032) over five lines of text, each with its line feed: `notify-gateway journal`, the
/// kind (`checkpoint` or `retired`), the number, the hash in hexadecimal digits, and the time of the statement as in
/// `at`. The first two lines keep a signature from being valid for the other kind or for another purpose of the key.
struct JournalStatement: Sendable, Hashable {
    /// The kind of a statement.
    enum Kind: String, Sendable, Hashable {
        /// The journal reaches at least to this line.
        case checkpoint
        /// All lines up to this one were removed by retention.
        case retired
    }

    let kind: Kind
    /// The number of the earlier line.
    let through: UInt64
    /// The hash of the earlier line: 64 hexadecimal digits.
    let head: [UInt8]
    /// The time of the statement, in RFC 3339.
    let time: String

    /// The bytes that are signed.
    var message: [UInt8] {
        var bytes = Array("notify-gateway journal\n\(kind.rawValue)\n\(through)\n".utf8)
        bytes += head
        bytes += "\n\(time)\n".utf8
        return bytes
    }
}

/// A statement with its signature, as stored in a line of the journal.
struct SignedStatement: Sendable, Hashable {
    let statement: JournalStatement
    /// The id of the signing key: 16 hexadecimal digits.
    let keyID: String
    let signature: [UInt8]

    /// Returns whether one of the keys signed this statement.
    func isValid(under keys: [Ed25519.PublicKey]) -> Bool {
        keys.contains { $0.journalID == keyID && $0.verifies(signature, of: statement.message) }
    }
}

extension Ed25519.PublicKey {
    /// The id of the key in journal lines: the first 8 bytes of its SHA-256 in hexadecimal digits.
    var journalID: String { SHA256.digest(bytes).map { String(hexEncoding: $0.prefix(8)) } ?? "" }
}

extension Ed25519.PrivateKey {
    /// Signs the statement; nil if libcrypto fails.
    func sign(_ statement: JournalStatement) -> SignedStatement? {
        signature(of: statement.message).map {
            SignedStatement(statement: statement, keyID: publicKey.journalID, signature: $0)
        }
    }
}
