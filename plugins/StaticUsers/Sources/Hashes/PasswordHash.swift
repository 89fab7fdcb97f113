internal import GatewayCore
internal import GatewaySupport

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

// The grammars of crypt(5), one function a scheme, each with an upper bound on the cost of a login.

extension PasswordHash {
    /// The number of digits that encode 32 bytes.
    static let digestDigits = 43
    static let bcryptDigestDigits = 31
    static let scryptParameterDigits = 11

    /// The most memory that one login may use, in bytes. yescrypt and scrypt need it by design.
    static let maximumMemory = 256 * 1024 * 1024
    /// The accepted bcrypt costs, as log2 of the rounds. Cost 16 takes about 4 s on a machine of 2020; a login may
    /// take 10 s.
    static let bcryptCosts = 4...16
    /// The accepted SHA-2 rounds. The upper bound is 1,000 times the default and takes about 2 s.
    static let shaRounds = 1000...5_000_000

    /// `$y$` parameters `$` salt `$` digest.
    static func checkYescrypt(_ fields: ArraySlice<Substring>) throws(Fault) {
        let fields = Array(fields)
        guard fields.count == 3, isSalt(fields[1]), CryptAlphabet.crypt.isCanonical(fields[2].utf8, count: digestDigits)
        else { throw malformed("yescrypt") }
        // crypt_gensalt(3) writes the flavour `j`, then one digit for log2 N and one for r, each reduced by one.
        let parameters = fields[0].utf8.compactMap(CryptAlphabet.crypt.value)
        guard fields[0].utf8.count == 3, parameters.count == 3, fields[0].utf8.first == UInt8(ascii: "j"),
            parameters.allSatisfy({ $0 < 48 })
        else {
            throw Fault(description: "has yescrypt parameters that crypt_gensalt(3) does not write")
        }
        try checkMemory(logN: Int(parameters[1]) + 1, blocks: Int(parameters[2]) + 1)
    }

    /// `$2b$` cost `$`, then salt and digest in one field.
    static func checkBcrypt(_ fields: ArraySlice<Substring>) throws(Fault) {
        let fields = Array(fields)
        guard fields.count == 2, fields[0].utf8.count == 2, fields[0].utf8.allSatisfy(\.isASCIIDigit),
            let cost = Int(fields[0]), fields[1].utf8.count == 53,
            CryptAlphabet.bcrypt.isCanonical(fields[1].utf8.prefix(22), count: 22),
            CryptAlphabet.bcrypt.isCanonical(fields[1].utf8.dropFirst(22), count: bcryptDigestDigits)
        else { throw malformed("bcrypt") }
        guard bcryptCosts.contains(cost) else {
            let (least, most) = (bcryptCosts.lowerBound, bcryptCosts.upperBound)
            throw Fault(description: "has the bcrypt cost \(cost); allowed: \(least) to \(most)")
        }
    }

    /// `$7$`, then one field of log2 N (one digit), r (five), p (five) and salt, then `$` digest.
    static func checkScrypt(_ fields: ArraySlice<Substring>) throws(Fault) {
        let fields = Array(fields)
        let parameters = fields[0].utf8.prefix(scryptParameterDigits).compactMap(CryptAlphabet.crypt.value)
        guard fields.count == 2, parameters.count == scryptParameterDigits,
            fields[0].utf8.count <= 97, fields[0].utf8.allSatisfy({ CryptAlphabet.crypt.value(of: $0) != nil }),
            CryptAlphabet.crypt.isCanonical(fields[1].utf8, count: digestDigits)
        else { throw malformed("scrypt") }
        func number(_ digits: ArraySlice<UInt8>) -> Int { digits.reversed().reduce(0) { $0 << 6 | Int($1) } }
        let lanes = number(parameters[6..<11])
        guard (1...16).contains(lanes) else {
            throw Fault(description: "has the scrypt parallelism \(lanes); allowed: 1 to 16")
        }
        // Lanes run one after another, so p multiplies the time as r multiplies the memory.
        try checkMemory(logN: Int(parameters[0]), blocks: number(parameters[1..<6]) * lanes)
    }

    /// `$6$` or `$5$`, optionally `rounds=` number `$`, then salt `$` digest.
    static func checkSHACrypt(_ fields: ArraySlice<Substring>, digits: Int) throws(Fault) {
        var fields = Array(fields)
        if fields.count == 3, fields[0].hasPrefix("rounds=") {
            let number = fields.removeFirst().dropFirst("rounds=".count)
            guard let rounds = Int(number), String(rounds) == number else { throw malformed("SHA-2 crypt") }
            guard shaRounds.contains(rounds) else {
                throw Fault(
                    description: "has \(rounds) rounds; allowed: \(shaRounds.lowerBound) to \(shaRounds.upperBound)")
            }
        }
        guard fields.count == 2, (1...16).contains(fields[0].utf8.count), fields[0].utf8.allSatisfy(isSHASaltByte),
            CryptAlphabet.crypt.isCanonical(fields[1].utf8, count: digits)
        else { throw malformed("SHA-2 crypt") }
    }

    private static func checkMemory(logN: Int, blocks: Int) throws(Fault) {
        // The memory is 128 · r · N bytes. The comparison divides instead of multiplying, so it cannot overflow.
        guard (1...62).contains(logN), blocks >= 1, blocks <= (maximumMemory / 128) >> logN else {
            throw Fault(description: "needs more than \(maximumMemory >> 20) MiB for one login; use a lower cost")
        }
    }

    /// Whether the text encodes at most 64 whole bytes.
    private static func isSalt(_ salt: Substring) -> Bool {
        let count = salt.utf8.count
        return count <= 86 && (count == 0 || count % 4 != 1 && CryptAlphabet.crypt.isCanonical(salt.utf8, count: count))
    }

    /// The salt bytes that libxcrypt accepts: visible ASCII except those with a meaning in shadow(5) or a shell.
    private static func isSHASaltByte(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"!*:;\\$".utf8.contains(byte)
    }

    private static func malformed(_ scheme: String) -> Fault {
        Fault(description: "is a malformed \(scheme) hash; copy the whole hash, or set a new password")
    }
}
