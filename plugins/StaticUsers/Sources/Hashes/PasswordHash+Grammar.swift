internal import GatewayCore

// The grammars of crypt(5), scheme by scheme, with a bound on what each may cost.

extension PasswordHash {
    /// The digits of 32 bytes.
    static let digestDigits = 43
    static let bcryptDigestDigits = 31
    static let scryptParameterDigits = 11

    /// The most memory that one login may take: yescrypt and scrypt are made to need it.
    static let mostMemory = 256 * 1024 * 1024
    /// 2 to the 16th rounds take about 4 s on a machine of 2020; a login has 10 s.
    static let bcryptCosts = 4...16
    /// 1,000 times the default, about 2 s.
    static let shaRounds = 1000...5_000_000

    /// `$y$` parameters `$` salt `$` digest.
    static func checkYescrypt(_ fields: ArraySlice<Substring>) throws(Fault) {
        let fields = Array(fields)
        guard fields.count == 3, isSalt(fields[1]), CryptAlphabet.crypt.isCanonical(fields[2].utf8, count: digestDigits)
        else { throw malformed("yescrypt") }
        // As crypt_gensalt(3) writes them: the flavour `j`, then one digit each for log2 N and r, both less one.
        let parameters = fields[0].utf8.compactMap(CryptAlphabet.crypt.value)
        guard fields[0].utf8.count == 3, parameters.count == 3, fields[0].utf8.first == UInt8(ascii: "j"),
            parameters.allSatisfy({ $0 < 48 })
        else {
            throw Fault(description: "has yescrypt parameters that crypt_gensalt(3) does not write")
        }
        try checkMemory(logN: Int(parameters[1]) + 1, blocks: Int(parameters[2]) + 1)
    }

    /// `$2b$` cost `$`, then salt and digest in one.
    static func checkBcrypt(_ fields: ArraySlice<Substring>) throws(Fault) {
        let fields = Array(fields)
        guard fields.count == 2, fields[0].utf8.count == 2, fields[0].utf8.allSatisfy(\.isASCIIDigit),
            let cost = Int(fields[0]), fields[1].utf8.count == 53,
            CryptAlphabet.bcrypt.isCanonical(fields[1].utf8.prefix(22), count: 22),
            CryptAlphabet.bcrypt.isCanonical(fields[1].utf8.dropFirst(22), count: bcryptDigestDigits)
        else { throw malformed("bcrypt") }
        guard bcryptCosts.contains(cost) else {
            let (least, most) = (bcryptCosts.lowerBound, bcryptCosts.upperBound)
            throw Fault(description: "has the bcrypt cost \(cost); allowed are \(least) to \(most)")
        }
    }

    /// `$7$`, then one digit of log2 N, five of r, five of p and the salt in one, `$` digest.
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
            throw Fault(description: "has the scrypt parallelism \(lanes); allowed are 1 to 16")
        }
        // Lanes cost one after another what memory costs at once.
        try checkMemory(logN: Int(parameters[0]), blocks: number(parameters[1..<6]) * lanes)
    }

    /// `$6$`, `rounds=` number `$` or nothing, salt `$` digest.
    static func checkSHACrypt(_ fields: ArraySlice<Substring>, digits: Int) throws(Fault) {
        var fields = Array(fields)
        if fields.count == 3, fields[0].hasPrefix("rounds=") {
            let number = fields.removeFirst().dropFirst("rounds=".count)
            guard let rounds = Int(number), String(rounds) == number else { throw malformed("SHA-2 crypt") }
            guard shaRounds.contains(rounds) else {
                throw Fault(
                    description: "has \(rounds) rounds; allowed are \(shaRounds.lowerBound) to \(shaRounds.upperBound)")
            }
        }
        guard fields.count == 2, (1...16).contains(fields[0].utf8.count), fields[0].utf8.allSatisfy(isSHASaltByte),
            CryptAlphabet.crypt.isCanonical(fields[1].utf8, count: digits)
        else { throw malformed("SHA-2 crypt") }
    }

    private static func checkMemory(logN: Int, blocks: Int) throws(Fault) {
        // 128 bytes times r times N, turned round so that nothing can overflow.
        guard (1...62).contains(logN), blocks >= 1, blocks <= (mostMemory / 128) >> logN else {
            throw Fault(description: "needs more than \(mostMemory >> 20) MiB for one login; hash it at less cost")
        }
    }

    /// Up to 64 bytes, in whole bytes.
    private static func isSalt(_ salt: Substring) -> Bool {
        let count = salt.utf8.count
        return count <= 86 && (count == 0 || count % 4 != 1 && CryptAlphabet.crypt.isCanonical(salt.utf8, count: count))
    }

    /// What libxcrypt takes in a setting: visible ASCII, without what shadow(5) and shells give a meaning.
    private static func isSHASaltByte(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"!*:;\\$".utf8.contains(byte)
    }

    private static func malformed(_ scheme: String) -> Fault {
        Fault(description: "is a malformed \(scheme) hash; copy it whole, or set the password anew")
    }
}
