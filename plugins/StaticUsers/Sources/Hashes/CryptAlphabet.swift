/// The two orders of the 64 digits in which crypt(5) writes binary data.
enum CryptAlphabet {
    /// `./0–9A–Za–z`: all but bcrypt.
    case crypt
    /// `./A–Za–z0–9`
    case bcrypt

    /// The value of a digit, or nil for what is none.
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

    /// Whether the text is exactly that many digits, the last of which carries no more than what is left of a byte.
    ///
    /// A text with other last bits decodes like one without them, and yet never equals what crypt(3) writes.
    func isCanonical(_ text: some Collection<UInt8>, count: Int) -> Bool {
        let values = text.compactMap(value)
        guard values.count == text.count, values.count == count, let last = values.last else { return false }
        let spare = UInt8(count * 6 % 8)
        switch self {
        // Little-endian groups: the bits beyond the last byte are the high ones.
        case .crypt: return last >> (6 - spare) == 0
        case .bcrypt: return last & (1 << spare - 1) == 0
        }
    }
}
