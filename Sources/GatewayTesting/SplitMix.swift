/// The SplitMix64 random number generator (Steele, Lea and Flood, 2014). A seed always gives the same numbers, so a
/// failing property test can be repeated.
public struct SplitMix: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator.
    public init(seed: UInt64) { state = seed }

    /// Returns the next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// Returns text of up to `count` Unicode scalars, with many that are special in syntaxes and in case folding.
    public mutating func text(upTo count: Int) -> String {
        let troublesome: [Unicode.Scalar] = [
            "\"", "\\", "/", "'", "<", ">", "&", "{", "}", "[", "]", "]", "|", "!", ":", ",", "%", "+", ";", "$", "(",
            ")", "@", "_", "x", "\u{0}", "\u{1}", "\u{8}", "\t", "\n", "\r", "\u{B}", "\u{1F}", " ", "\u{7F}", "\u{85}",
            "\u{A0}", "\u{DF}", "\u{E9}", "\u{130}", "\u{131}", "\u{17F}", "\u{300}", "\u{301}", "\u{307}", "\u{345}",
            "\u{3A3}", "\u{3C2}", "\u{1E9E}", "\u{200D}", "\u{202E}", "\u{2028}", "\u{212A}", "\u{FEFF}", "\u{FFFD}",
            "\u{FFFE}", "\u{FFFF}", "\u{10000}", "\u{1F600}", "\u{10FFFF}",
        ]
        var text = ""
        for _ in 0..<Int.random(in: 0...count, using: &self) {
            switch UInt8.random(in: 0..<4, using: &self) {
            case 0: text.unicodeScalars.append(troublesome.randomElement(using: &self)!)
            case 1, 2: text.unicodeScalars.append(Unicode.Scalar(UInt8.random(in: 0x20..<0x7F, using: &self)))
            default:
                // Surrogates are not scalars. One draw in 64 hits them and is skipped.
                if let scalar = Unicode.Scalar(UInt32.random(in: 0x80...0x1_FFFF, using: &self)) {
                    text.unicodeScalars.append(scalar)
                }
            }
        }
        return text
    }

    /// Returns a random Unicode scalar; half of them are ASCII.
    public mutating func scalar() -> Unicode.Scalar {
        if Bool.random(using: &self) { return Unicode.Scalar(UInt8.random(in: 0x20..<0x7F, using: &self)) }
        while true {
            if let scalar = Unicode.Scalar(UInt32.random(in: 0x80...0x1_FFFF, using: &self)) { return scalar }
        }
    }

    /// Returns text of this many scalars.
    public mutating func text(_ counts: ClosedRange<Int>) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: counts, using: &self) { text.append(scalar()) }
        return String(text)
    }
}
