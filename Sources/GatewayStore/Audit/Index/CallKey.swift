extension SegmentIndex {
    /// A call's id as the index compares it, or the digest of a text that is not an id.
    struct CallKey: Equatable {
        /// The two halves of an id.
        let high: UInt64
        let low: UInt64
        let form: Form

        /// The kinds of keys.
        enum Form: UInt8 {
            /// The line has no call.
            case missing
            /// An id in the gateway's form.
            case id
            /// The digest of another text. Different texts may have the same key.
            case opaque
        }

        /// The key of a line without a call.
        static let missing = CallKey(high: 0, low: 0, form: .missing)

        private init(high: UInt64, low: UInt64, form: Form) {
            self.high = high
            self.low = low
            self.form = form
        }

        /// Creates the key of a call by the text of its id.
        init(_ text: UnsafeRawBufferPointer) {
            if text.count == 32, let high = Self.hexadecimal(text[0..<16]), let low = Self.hexadecimal(text[16..<32]) {
                self.init(high: high, low: low, form: .id)
            } else {
                self.init(high: UInt64(SegmentIndex.hash(of: text)), low: UInt64(text.count), form: .opaque)
            }
        }

        /// The part of the key that the index stores. Equal keys have equal hashes.
        var hash: UInt32 {
            var mixed = (high ^ (low &* 0x9E37_79B9_7F4A_7C15)) &* 0xFF51_AFD7_ED55_8CCD
            mixed = (mixed ^ (mixed >> 33)) &* 0xC4CE_B9FE_1A85_EC53
            return UInt32(truncatingIfNeeded: mixed >> 32)
        }

        private static func hexadecimal(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
            var value: UInt64 = 0
            for digit in digits {
                switch digit {
                case 0x30...0x39: value = value << 4 | UInt64(digit - 0x30)
                case 0x61...0x66: value = value << 4 | UInt64(digit - 0x57)
                default: return nil
                }
            }
            return value
        }
    }
}
