internal import Synchronization

/// The trace that a call belongs to (W3C Trace Context, Level 1): passed on where a trusted peer began one, else begun here.
///
/// A trace that begins here has the id of the call, so that one leads to the other. Of a peer's trace only the id and the flags
/// are kept, and a `TraceState` beside them, never bytes.
public struct TraceContext: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64
    private let flags: UInt8
    /// What goes along with it; nil for nothing.
    public let state: TraceState?

    /// The trace that begins with a call. Nobody here records it, so it is not marked as sampled.
    public init(of call: CallID) {
        high = call.process
        // Never zero: numbers begin at 1 (section 3.2.2.3 wants an id that is not all zeros).
        low = call.number
        flags = 0
        state = nil
    }

    /// The trace that a `traceparent` speaks of; nil for one that is to be ignored (sections 3.2.2 and 4.3).
    ///
    /// - Parameter state: The `tracestate` that came with it; nil where there was none, or one that is to be ignored.
    public init?(traceparent bytes: some Collection<UInt8>, state: TraceState? = nil) {
        let bytes = Array(bytes)
        // version "-" trace-id "-" parent-id "-" trace-flags; later versions may append to that.
        guard bytes.count >= Self.length, let version = Self.number(bytes[0..<2]), version != 0xFF,
            bytes.count == Self.length || (version > 0 && bytes[Self.length] == Self.dash),
            Self.dashes.allSatisfy({ bytes[$0] == Self.dash }),
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]), high != 0 || low != 0,
            let parent = Self.number(bytes[36..<52]), parent != 0, let flags = Self.number(bytes[53..<55])
        else { return nil }
        self.state = state
        self.high = high
        self.low = low
        // Of the flags of later versions nothing is known but this one (section 4.3).
        self.flags = UInt8(flags & 1)
    }

    /// The trace's id: 32 lower-case hexadecimal digits.
    public var id: String {
        String(unsafeUninitializedCapacity: 32) { text in
            var digits = ByteWriter(text)
            digits.append(hexDigitsOf: high)
            digits.append(hexDigitsOf: low)
            return 32
        }
    }

    /// The `traceparent` of a request that the gateway makes for the trace.
    ///
    /// - Parameter span: The id of that request; 0, which none may have, stands for 1.
    public func traceparent(span: UInt64) -> String {
        String(decoding: [UInt8](expecting: Self.length) { write(traceparentWith: span, to: &$0) }, as: UTF8.self)
    }

    /// Appends the `traceparent` of a request with that id.
    package func write(traceparentWith span: UInt64, to bytes: inout ByteWriter) {
        bytes.append("00-")
        bytes.append(hexDigitsOf: high)
        bytes.append(hexDigitsOf: low)
        bytes.append("-")
        bytes.append(hexDigitsOf: max(1, span))
        bytes.append(flags == 0 ? "-00" : "-01")
    }

    /// An id for the next request: each has a span of its own (section 3.2.2.4). Takes no lock.
    package static func nextSpan() -> UInt64 {
        // Numbers one after another, made to look unlike each other: the constants are those of SplitMix64.
        var span = spans.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
        span = (span ^ span >> 30) &* 0xBF58_476D_1CE4_E5B9
        span = (span ^ span >> 27) &* 0x94D0_49BB_1331_11EB
        return span ^ span >> 31
    }

    private static let spans = Atomic<UInt64>(.random(in: .min ... .max))
    private static let dash = UInt8(ascii: "-")
    /// Where the parts of a `traceparent` are joined, and how long it is.
    private static let dashes = [2, 35, 52]
    private static let length = 55

    /// The number that up to 16 lower-case hexadecimal digits are; capitals are not allowed (section 3.2.2).
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}
