internal import Foundation
internal import GatewayCore

/// Detects secrets that cannot be random. A typed, padded or repeated secret can be found from one captured token.
///
/// Three tests apply. Random bytes fail one of them in less than one of a million keys:
///
/// 1. The bytes must not be text. A made-up key is text, and so is base64 or hex that was encoded twice.
/// 2. The bytes must have enough estimated entropy (``estimatedBits(of:)``).
/// 3. The base64 text must not consist of words (`PassphraseDetector`): letters and digits without blanks are valid
///    base64.
enum KeyStrength {
    /// The minimum number of distinct bytes. 32 random bytes have fewer in less than one of 10^14 keys.
    static let minimumDistinctBytes = 12
    /// The maximum length in bytes of a repeated block that is detected.
    static let maximumBlockLength = 16
    /// The minimum number of estimated bits. 32 random bytes have about 245, and fewer than 200 in less than one of a
    /// million keys.
    static let minimumBits = 200

    /// The advice at the end of messages about weak secrets.
    static let remedy = "make one with `openssl rand -base64 48`, or run `notify-gateway keys rotate`"

    /// Returns what is wrong with the secret, or nil.
    static func weakness(of secret: [UInt8], for algorithm: TokenAlgorithm) -> String? {
        guard secret.count >= algorithm.keyByteCount else {
            return "is \(secret.count) bytes long; \(algorithm.rawValue) needs at least \(algorithm.keyByteCount)"
        }
        let different = Set(secret).count
        guard different >= minimumDistinctBytes else {
            return "has only \(different) different bytes; a random key has at least \(minimumDistinctBytes)"
        }
        // Every key is longer than `maximumBlockLength`, so a match means at least one repeated byte.
        let part = (1...maximumBlockLength).first { length in
            secret.indices.dropFirst(length).allSatisfy { secret[$0] == secret[$0 - length] }
        }
        if let part { return "repeats a part of \(part) bytes; a random key does not" }
        if isText(secret) { return "is text in base64, not random bytes; \(remedy)" }
        let bits = Int(estimatedBits(of: secret))
        return bits < minimumBits
            ? "has a pattern: about \(bits) bits are random, \(minimumBits) are required; \(remedy)" : nil
    }

    /// Whether the bytes are UTF-8 text without control characters other than white space. 32 random bytes are text
    /// in one of 10^11 keys.
    static func isText(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            scalar.properties.generalCategory != .control || scalar.properties.isWhitespace
        }
    }

    /// Returns an estimate of the entropy of the bytes, in bits: the sum of each byte's cost in order.
    ///
    /// - A byte that repeats an earlier pair with its predecessor, or continues the step between the two bytes before
    ///   it, costs 1 bit.
    /// - A byte that occurred k times among the n bytes before it costs log2((n + 1) / k) bits, so a frequent byte is
    ///   cheap.
    /// - A new byte costs log2 of the range between the least byte and the greatest: 8 bits for the full range.
    ///
    /// Random bytes cost nearly 8 bits each. Repetitions, sequences, small alphabets and padding cost little.
    static func estimatedBits(of bytes: [UInt8]) -> Double {
        guard let least = bytes.min(), let greatest = bytes.max() else { return 0 }
        let fresh = log2(Double(greatest - least) + 1)
        var counts: [UInt8: Int] = [:]
        var pairs: Set<[UInt8]> = []
        var bits = 0.0
        for (index, byte) in bytes.enumerated() {
            let goesOn = index >= 1 && pairs.contains([bytes[index - 1], byte])
            let steps =
                index >= 2 && byte &- bytes[index - 1] == bytes[index - 1] &- bytes[index - 2]
            if goesOn || steps {
                bits += 1
            } else if let count = counts[byte] {
                bits += min(fresh, log2(Double(index + 1) / Double(count)))
            } else {
                bits += fresh
            }
            counts[byte, default: 0] += 1
            if index >= 1 { pairs.insert([bytes[index - 1], byte]) }
        }
        return bits
    }
}

/// Detects base64 text that was typed as words. `MySuperSecretKeyForTheApplication12345678901` decodes to bytes that
/// look random.
///
/// Compares the likelihood of the text under two models. In the first the characters are random base64, each one of
/// 64. In the second somebody typed words and numbers: capitals, small letters and digits come in runs, and letters
/// have their English frequencies. The text counts as typed if the second model is better by `certainty` bits, which
/// happens for one of 2^`certainty` random keys.
enum PassphraseDetector {
    /// The number of bits by which the model of typed words must be better.
    static let certainty = 24.0

    /// Whether the text, base64 with or without padding, was typed as words.
    static func isTyped(_ base64: some Sequence<UInt8>) -> Bool {
        var kind = Kind.sign
        var gain = 0.0
        for byte in base64 where byte != UInt8(ascii: "=") {
            let next = Kind(byte)
            gain += 6 + log2(follow[kind.rawValue][next.rawValue] * next.share(of: byte))
            kind = next
        }
        return gain >= certainty
    }

    /// The probabilities of the next character's kind after each kind in typed text. Order: small, capital, digit,
    /// sign.
    private static let follow = [
        [0.82, 0.10, 0.06, 0.02], [0.50, 0.44, 0.04, 0.02], [0.12, 0.15, 0.70, 0.03], [0.45, 0.35, 0.15, 0.05],
    ]

    /// The frequencies of the letters a to z in English text, in parts per thousand.
    private static let letters = [
        82, 15, 28, 43, 127, 22, 20, 61, 70, 2, 8, 40, 24, 67, 75, 19, 1, 60, 63, 91, 28, 10, 24, 1, 20, 1,
    ]

    private enum Kind: Int {
        case small, capital, digit, sign

        init(_ byte: UInt8) {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"): self = .small
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): self = .capital
            case UInt8(ascii: "0")...UInt8(ascii: "9"): self = .digit
            default: self = .sign
            }
        }

        /// The probability of the byte among the characters of its kind.
        func share(of byte: UInt8) -> Double {
            switch self {
            // A tenth of the letters counts as uniformly distributed, for abbreviations and names.
            case .small, .capital: 0.9 * Double(letters[Int((byte | 0x20) - UInt8(ascii: "a"))]) / 1002 + 0.1 / 26
            case .digit: 0.1
            case .sign: 0.5
            }
        }
    }
}
