/// A well-formed crypt(5) password hash of an accepted scheme whose cost is within the limits of a login.
///
/// The initialiser checks the grammar to the last bit: a malformed hash would lock the account, and a costly one
/// would take minutes at every login.
public struct PasswordHash: Sendable, Hashable {
    /// The reason why a text is not an accepted hash, for the operator.
    public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
        /// A predicate without a subject, such as `is plain text or an unknown hash; accepted: …`.
        public let description: String
    }

    /// The hash as written in the file. It opens nothing by itself, but must not be logged.
    public let text: String
    let scheme: HashScheme
    /// The length in bytes of the setting: the prefix with scheme, cost and salt, before the digest.
    let settingLength: Int
    /// The scheme and its cost parameters. Hashes with equal keys take equally long to compute.
    let costKey: String

    /// Parses a hash.
    ///
    /// - Throws: `Fault` if the text is not an accepted hash.
    public init(_ text: String) throws(Fault) {
        // crypt(5): fields between dollar signs, the first field empty.
        let fields = text.split(separator: "$", omittingEmptySubsequences: false)
        guard fields.count > 2, fields[0].isEmpty, let scheme = HashScheme(prefix: fields[1]) else {
            throw Fault(description: HashScheme.rejectionMessage(for: text))
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
