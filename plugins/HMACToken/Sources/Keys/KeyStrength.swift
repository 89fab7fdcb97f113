internal import Foundation
internal import GatewayCore

/// Detects secrets that cannot be random. A typed, padded or repeated secret can be found from one captured token.
///
/// Three tests apply. Random bytes fail one of them in less than one of a million keys:
///
/// 1. The bytes must not be text. A made-up key is text, and so is base64 or hex that was encoded twice.
/// 2. The bytes must have enough estimated entropy (``estimatedBits(of:)``).
/// 3. The base64 text must not consist of words (`PassphraseDetector`): letters and digits without blanks are valid base64.
enum KeyStrength {
    /// The fewest distinct bytes. 32 random bytes have fewer in less than one of 10^14 keys.
    static let minimumDistinctBytes = 12
    /// The greatest length in bytes of a repeated block that is detected.
    static let maximumBlockLength = 16
    /// The fewest estimated bits. 32 random bytes have about 245, and fewer than 200 in less than one of a million
    /// keys.
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
