/// The two digit orders of the base-64 encodings in crypt(5).
enum CryptAlphabet {
    /// `./0–9A–Za–z`: every scheme except bcrypt.
    case crypt
    /// `./A–Za–z0–9`: bcrypt.
    case bcrypt

    /// Returns the value of a digit, or nil for a byte that is not a digit.
    func value(of byte: UInt8) -> UInt8? {
        switch (byte, self) {
        case (UInt8(ascii: "."), _): 0
        case (UInt8(ascii: "/"), _): 1
        case (UInt8(ascii: "0")...UInt8(ascii: "9"), .crypt): byte - UInt8(ascii: "0") + 2
        case (UInt8(ascii: "A")...UInt8(ascii: "Z"), .crypt): byte - UInt8(ascii: "A") + 12
        case (UInt8(ascii: "a")...UInt8(ascii: "z"), .crypt): byte - UInt8(ascii: "a") + 38
        case (UInt8(ascii: "A")...UInt8(ascii: "Z"), .bcrypt): byte - UInt8(ascii: "A") + 2
        case (UInt8(ascii: "a")...UInt8(ascii: "z"), .bcrypt): byte - UInt8(ascii: "a") + 28
        case (UInt8(ascii: "0")...UInt8(ascii: "9"), .bcrypt): byte - UInt8(ascii: "0") + 54
        default: nil
        }
    }

    /// Whether the text has exactly `count` digits and the unused bits of the last digit are zero.
    ///
    /// crypt(3) always writes zero bits there. A text with other bits decodes to the same bytes, but never equals the
    /// output of crypt(3).
    func isCanonical(_ text: some Collection<UInt8>, count: Int) -> Bool {
        let values = text.compactMap(value)
        guard values.count == text.count, values.count == count, let last = values.last else { return false }
        let spare = UInt8(count * 6 % 8)
        switch self {
        // Groups are little-endian: the unused bits are the high ones.
        case .crypt: return last >> (6 - spare) == 0
        case .bcrypt: return last & (1 << spare - 1) == 0
        }
    }
}
