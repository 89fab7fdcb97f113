/// The accepted password hashing schemes, by their crypt(5) prefixes.
enum HashScheme: Sendable, Hashable {
    /// `$y$`
    case yescrypt
    /// `$2a$`, `$2b$`, `$2y$`
    case bcrypt
    /// `$7$`
    case scrypt
    /// `$6$`
    case sha512crypt
    /// `$5$`
    case sha256crypt

    /// Creates the scheme from the text between the first two dollar signs.
    init?(prefix: Substring) {
        switch prefix {
        case "y": self = .yescrypt
        case "2a", "2b", "2y": self = .bcrypt
        case "7": self = .scrypt
        case "6": self = .sha512crypt
        case "5": self = .sha256crypt
        default: return nil
        }
    }

    /// Returns the message for a text that is not an accepted hash. The message never repeats the text, which may be
    /// a password.
    static func rejectionMessage(for text: String) -> String {
        let kind =
            switch true {
            case text.hasPrefix("$1$"), text.hasPrefix("$apr1$"): "is an MD5 hash"
            case text.hasPrefix("$2x$"): "is a bcrypt hash of the broken variant $2x$"
            case text.hasPrefix("{SHA}"), text.hasPrefix("$sha1$"), text.hasPrefix("{SSHA}"): "is a SHA-1 hash"
            case text.hasPrefix("$3$"): "is an NT hash"
            case text.hasPrefix("_") && text.utf8.count == 20: "is a DES hash"
            case text.utf8.count == 13 && text.utf8.allSatisfy({ CryptAlphabet.crypt.value(of: $0) != nil }):
                "is a DES hash"
            default: "is plain text or an unknown hash"
            }
        return "\(kind); accepted: yescrypt ($y$), bcrypt ($2a$, $2b$, $2y$), scrypt ($7$), sha512crypt ($6$) and "
            + "sha256crypt ($5$)"
    }
}
