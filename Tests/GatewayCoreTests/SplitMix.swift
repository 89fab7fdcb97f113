/// The same numbers in every run, so that a property that fails fails again.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        return bits ^ (bits >> 31)
    }

    /// A scalar from anywhere in Unicode, ASCII every other time.
    mutating func scalar() -> Unicode.Scalar {
        if Bool.random(using: &self) { return Unicode.Scalar(UInt8.random(in: 0x20..<0x7F, using: &self)) }
        while true {
            if let scalar = Unicode.Scalar(UInt32.random(in: 0x80...0x1_FFFF, using: &self)) { return scalar }
        }
    }

    mutating func text(_ counts: ClosedRange<Int>) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: counts, using: &self) { text.append(scalar()) }
        return String(text)
    }
}
