internal import Foundation
internal import GatewayCore

/// Whether a secret could have been random: what people type, pad or repeat is found by anybody with one token.
///
/// Three questions, each of which random bytes pass but for less than one key in a million:
///
/// 1. Are the bytes text? A key that somebody made up is text, and so is base64 or hex that was encoded once more.
/// 2. How many bits would somebody need who describes the bytes one after the other (``estimatedBits(of:)``)?
/// 3. Was the base64 itself typed as words? Letters and digits without a blank are base64 by chance (`TypedWords`).
enum KeyStrength {
    /// The fewest different bytes; 32 random ones have fewer in less than one of 10^14 keys.
    static let leastDifferentBytes = 12
    /// The longest part that may not make up the key by repetition.
    static let longestPart = 16
    /// The fewest estimated bits; 32 random bytes have about 245, and fewer than 200 in less than one of a million keys.
    static let leastBits = 200

    /// How a good key is made, for messages.
    static let remedy = "make one with `openssl rand -base64 48`, or run `notify-gateway keys rotate`"

    /// What is wrong with the secret, or nil.
    static func weakness(of secret: [UInt8], for algorithm: TokenAlgorithm) -> String? {
        guard secret.count >= algorithm.keyByteCount else {
            return "is \(secret.count) bytes long; \(algorithm.rawValue) needs at least \(algorithm.keyByteCount)"
        }
        let different = Set(secret).count
        guard different >= leastDifferentBytes else {
            return "has only \(different) different bytes; a random key has at least \(leastDifferentBytes)"
        }
        // A key as long as the longest part would repeat nothing, and every key is longer.
        let part = (1...longestPart).first { length in
            secret.indices.dropFirst(length).allSatisfy { secret[$0] == secret[$0 - length] }
        }
        if let part { return "repeats a part of \(part) bytes; a random key does not" }
        if isText(secret) { return "is text in base64, not random bytes; \(remedy)" }
        let bits = Int(estimatedBits(of: secret))
        return bits < leastBits
            ? "has a pattern: about \(bits) bits are random, and \(leastBits) must be; \(remedy)" : nil
    }

    /// Whether the bytes are UTF-8 without control characters other than blanks and line ends: all printable ASCII, for one. Of
    /// 32 random bytes that is so once in 10^11 keys.
    static func isText(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            scalar.properties.generalCategory != .control || scalar.properties.isWhitespace
        }
    }

    /// An estimate of the randomness in the bytes: the sum of what each byte costs somebody who describes them from first to last.
    ///
    /// - A byte that continues a part that was there before, or goes on in the same step as the two before it, costs 1 bit.
    /// - A byte that was there before, k times among n bytes, costs log2((n + 1) / k) bits: the oftener, the cheaper.
    /// - A new byte costs as many bits as the range from the least byte to the greatest has: 8 where that is all of it.
    ///
    /// So random bytes cost nearly 8 bits each, and repetitions, counts, few symbols or padding cost little.
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
