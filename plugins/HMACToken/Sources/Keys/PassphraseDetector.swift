internal import Foundation
internal import GatewayCore

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
