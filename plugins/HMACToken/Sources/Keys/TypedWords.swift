internal import Foundation
internal import GatewayCore

/// Whether base64 was typed as words: `MySuperSecretKeyForTheApplication12345678901` decodes to bytes that look random.
///
/// Compares two explanations of the characters. By the one they are random base64: each is one of 64. By the other somebody wrote
/// words and numbers: capital and small letters and digits come in runs, and letters are as frequent as in English. Where the
/// second explains the text better by `certainty` bits the text is words; random base64 comes to that once in 2^`certainty` keys.
enum TypedWords {
    /// By how many bits words must be the better explanation.
    static let certainty = 24.0

    /// Whether the text, base64 with or without padding, was typed.
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

    /// How probably characters of one kind are followed by each kind, where somebody writes: small, capital, digit, sign.
    private static let follow = [
        [0.82, 0.10, 0.06, 0.02], [0.50, 0.44, 0.04, 0.02], [0.12, 0.15, 0.70, 0.03], [0.45, 0.35, 0.15, 0.05],
    ]

    /// How many of a thousand letters of English text are a, b, c and so on.
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

        /// The byte's share among those of its kind.
        func share(of byte: UInt8) -> Double {
            switch self {
            // A tenth of the letters are any: of abbreviations and names.
            case .small, .capital: 0.9 * Double(letters[Int((byte | 0x20) - UInt8(ascii: "a"))]) / 1002 + 0.1 / 26
            case .digit: 0.1
            case .sign: 0.5
            }
        }
    }
}
