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

/// The two digit orders of the base-64 encodings in crypt(5).
enum CryptAlphabet {
    /// `./0–9A–Za–z`: every scheme except bcrypt.
    case crypt
    /// `./A–Za–z0–9`: bcrypt.
    case bcrypt

    /// Returns the value of a digit, or nil for a byte that is not a digit.
    func value(of byte: UInt8) -> UInt8? {
        switch (byte, self) {
        case (UInt8(ascii: "."), _): 0
        case (UInt8(ascii: "/"), _): 1
        case (UInt8(ascii: "0")...UInt8(ascii: "9"), .crypt): byte - UInt8(ascii: "0") + 2
        case (UInt8(ascii: "A")...UInt8(ascii: "Z"), .crypt): byte - UInt8(ascii: "A") + 12
        case (UInt8(ascii: "a")...UInt8(ascii: "z"), .crypt): byte - UInt8(ascii: "a") + 38
        case (UInt8(ascii: "A")...UInt8(ascii: "Z"), .bcrypt): byte - UInt8(ascii: "A") + 2
        case (UInt8(ascii: "a")...UInt8(ascii: "z"), .bcrypt): byte - UInt8(ascii: "a") + 28
        case (UInt8(ascii: "0")...UInt8(ascii: "9"), .bcrypt): byte - UInt8(ascii: "0") + 54
        default: nil
        }
    }

    /// Whether the text has exactly `count` digits and the unused bits of the last digit are zero.
    ///
    /// crypt(3) always writes zero bits there. A text with other bits decodes to the same bytes, but never equals the
    /// output of crypt(3).
    func isCanonical(_ text: some Collection<UInt8>, count: Int) -> Bool {
        let values = text.compactMap(value)
        guard values.count == text.count, values.count == count, let last = values.last else { return false }
        let unusedBits = UInt8(count * 6 % 8)
        switch self {
        // Groups are little-endian: the unused bits are the high ones.
        case .crypt: return last >> (6 - unusedBits) == 0
        case .bcrypt: return last & (1 << unusedBits - 1) == 0
        }
    }
}
