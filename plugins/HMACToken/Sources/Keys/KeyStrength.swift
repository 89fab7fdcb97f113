internal import GatewayCore

/// Whether a secret could have been random: what people type, pad or repeat is found by anybody with one token.
enum KeyStrength {
    /// The fewest different bytes; 32 random ones have fewer in less than one of 10^14 keys.
    static let leastDifferentBytes = 12
    /// The longest part that may not make up the key by repetition.
    static let longestPart = 16

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
        return part.map { "repeats a part of \($0) bytes; a random key does not" }
    }
}
