/// A password's hash as crypt(5) has it, of an accepted scheme, well-formed, and no dearer than a login may be.
///
/// Its grammar is checked to the last bit, because a malformed hash is an account that nobody can use, or one that costs
/// minutes at every login.
public struct PasswordHash: Sendable, Hashable {
    /// What is wrong with a text, in words for the operator.
    public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
        /// A sentence without subject, such as `is plain text or an unknown hash; accepted are …`.
        public let description: String
    }

    /// The hash. Not a secret that opens anything by itself, and yet not for logs.
    public let text: String
    let scheme: HashScheme
    /// Where the digest begins in the text; before it stands the setting, which says how the digest is made.
    let settingLength: Int
    /// What the cost depends on: hashes alike in this cost alike.
    let costKey: String

    /// The hash, if the text is one that is accepted.
    public init(_ text: String) throws(Fault) {
        // crypt(5): fields between dollar signs, the first of them empty.
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count > 2, fields[0].isEmpty, let scheme = HashScheme(prefix: fields[1]) else {
            throw Fault(description: HashScheme.refusal(of: text))
        }
        let inner = fields.dropFirst(2)
        switch scheme {
        case .yescrypt: try Self.checkYescrypt(inner)
        case .bcrypt: try Self.checkBcrypt(inner)
        case .scrypt: try Self.checkScrypt(inner)
        case .sha512crypt: try Self.checkSHACrypt(inner, digits: 86)
        case .sha256crypt: try Self.checkSHACrypt(inner, digits: 43)
        }
        self.text = text
        self.scheme = scheme
        switch scheme {
        case .bcrypt:
            settingLength = text.utf8.count - Self.bcryptDigestDigits
            costKey = fields[1...2].joined(separator: "$")
        case .scrypt:
            settingLength = text.utf8.count - Self.digestDigits
            costKey = "7$\(fields[2].prefix(Self.scryptParameterDigits))"
        case .yescrypt, .sha512crypt, .sha256crypt:
            settingLength = text.utf8.count - (inner.last?.utf8.count ?? 0)
            // The last two fields are salt and digest.
            costKey = fields.dropFirst().dropLast(2).joined(separator: "$")
        }
    }
}
