package import GatewaySupport
internal import Synchronization

/// The trace that a call belongs to (W3C Trace Context, Level 1): continued from a trusted peer, or started by the
/// gateway.
///
/// A trace that the gateway starts has the id of the call, so that each can be found by the other. The gateway
/// keeps the parsed id, the flags and the `TraceState` of a peer's context, never the received bytes.
public struct TraceContext: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64
    private let flags: UInt8
    /// The id of the parent span of a trusted peer; nil for a trace that the gateway starts.
    public let parent: UInt64?
    /// The vendor-specific state to pass on; nil for none.
    public let state: TraceState?

    /// Creates the trace of a call that has no trusted parent. It is not marked as sampled.
    public init(of call: CallID) {
        high = call.process
        // Never zero, because call numbers begin at 1 (section 3.2.2.3 forbids an id of zeros only).
        low = call.number
        flags = 0
        parent = nil
        state = nil
    }

    /// Parses a `traceparent` field; returns nil if the field must be ignored (sections 3.2.2 and 4.3).
    ///
    /// - Parameter state: The accompanying `tracestate`; nil if it is absent or must be ignored.
    public init?(traceparent bytes: some Collection<UInt8>, state: TraceState? = nil) {
        let bytes = Array(bytes)
        // version "-" trace-id "-" parent-id "-" trace-flags; later versions may append fields.
        guard bytes.count >= Self.length, let version = Self.number(bytes[0..<2]), version != 0xFF,
            bytes.count == Self.length || (version > 0 && bytes[Self.length] == Self.dash),
            Self.dashes.allSatisfy({ bytes[$0] == Self.dash }),
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]), high != 0 || low != 0,
            let parent = Self.number(bytes[36..<52]), parent != 0, let flags = Self.number(bytes[53..<55])
        else { return nil }
        self.state = state
        self.high = high
        self.low = low
        self.parent = parent
        // Only the sampled flag is known across versions (section 4.3).
        self.flags = UInt8(flags & 1)
    }

    private init(sampling trace: TraceContext) {
        (high, low, flags, parent, state) = (trace.high, trace.low, 1, trace.parent, trace.state)
    }

    /// The same trace, marked as sampled.
    package var sampled: TraceContext { TraceContext(sampling: self) }

    /// Whether the trace is marked as sampled (section 3.2.2.5).
    package var isSampled: Bool { flags != 0 }

    /// Bits that depend on the trace id alone and resemble random ones, also for successive ids of the gateway.
    package var mixedID: UInt64 { Self.mix(high ^ Self.mix(low)) }

    /// The trace id: 32 lower-case hexadecimal digits.
    public var id: String { String(expecting: 32, write(idTo:)) }

    /// Appends the 32 digits of the trace id.
    package func write(idTo bytes: inout ByteWriter) {
        bytes.append(hexDigitsOf: high)
        bytes.append(hexDigitsOf: low)
    }

    /// Appends the `traceparent` of an upstream request within the trace.
    ///
    /// - Parameter span: The id of that request, from ``nextSpan()``.
    package func write(traceparentWith span: UInt64, to bytes: inout ByteWriter) {
        bytes.append("00-")
        write(idTo: &bytes)
        bytes.append("-")
        bytes.append(hexDigitsOf: span)
        bytes.append(flags == 0 ? "-00" : "-01")
    }

    /// Returns a new span id. Each upstream request has its own (section 3.2.2.4). Takes no lock.
    package static func nextSpan() -> UInt64 {
        // 0 is not a valid id.
        max(1, mix(spans.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue))
    }

    /// Scrambles a number with the constants of SplitMix64, so that results of consecutive numbers do not resemble each
    /// other.
    private static func mix(_ number: UInt64) -> UInt64 {
        var mixed = number &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    private static let spans = Atomic<UInt64>(.random(in: .min ... .max))
    private static let dash = UInt8(ascii: "-")
    /// The positions of the hyphens in a `traceparent`, and its length in bytes.
    private static let dashes = [2, 35, 52]
    private static let length = 55

    /// Parses up to 16 lower-case hexadecimal digits; upper case is not allowed (section 3.2.2).
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

/// The members of a `tracestate` field: vendor-specific data of the systems that have handled the trace (W3C Trace
/// Context, Level 1, section 3.3).
///
/// Accepted only from a trusted peer, and only together with a valid `traceparent`. Each member is checked against the
/// grammar and serialized again. A list with any invalid member is dropped as a whole, as section 4.3 requires, and the
/// trace continues without it.
public struct TraceState: Sendable, Hashable {
    /// The maximum number of members of a list (section 3.3.1.1).
    public static let maximumMembers = 32
    /// The maximum number of bytes that are passed on: the amount that section 3.3.1.5 requires of every
    /// implementation.
    public static let maximumBytes = 512

    /// The members, separated by commas.
    public let text: String

    /// Parses a list. The caller joins the lines of several fields by commas. Returns nil for a list that is empty,
    /// violates the grammar, repeats a key, or is too long.
    public init?(_ bytes: some Collection<UInt8>) {
        var keys: Set<ArraySlice<UInt8>> = []
        var text: [UInt8] = []
        // Members may be empty (section 3.3.1.1).
        for piece in Array(bytes).split(separator: UInt8(ascii: ",")) {
            let member = Self.trimmed(piece)
            if member.isEmpty { continue }
            guard keys.count < Self.maximumMembers,
                text.count + member.count < Self.maximumBytes + (text.isEmpty ? 1 : 0),
                let equals = member.firstIndex(of: UInt8(ascii: "=")), Self.isKey(member[..<equals]),
                Self.isValue(member[(equals + 1)...]), keys.insert(member[..<equals]).inserted
            else { return nil }
            if !text.isEmpty { text.append(UInt8(ascii: ",")) }
            text += member
        }
        if text.isEmpty { return nil }
        self.text = String(decoding: text, as: UTF8.self)
    }

    /// Section 3.3.1.3.1: a simple key, or `tenant@system`.
    private static func isKey(_ key: ArraySlice<UInt8>) -> Bool {
        guard let at = key.firstIndex(of: UInt8(ascii: "@")) else { return isName(key, maximum: 256) }
        let (tenant, system) = (key[..<at], key[(at + 1)...])
        return isName(tenant, maximum: 241, mayBeginWithDigit: true) && isName(system, maximum: 14)
    }

    private static func isName(_ name: ArraySlice<UInt8>, maximum: Int, mayBeginWithDigit: Bool = false) -> Bool {
        guard let first = name.first, name.count <= maximum else { return false }
        return (isSmallLetter(first) || mayBeginWithDigit && first.isASCIIDigit)
            && name.allSatisfy { isSmallLetter($0) || $0.isASCIIDigit || "_-*/".utf8.contains($0) }
    }

    private static func isSmallLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }

    /// Section 3.3.1.3.2: printable ASCII except comma and equals sign. A trailing space is not allowed either;
    /// `trimmed` has removed it before.
    private static func isValue(_ value: ArraySlice<UInt8>) -> Bool {
        (1...256).contains(value.count)
            && value.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ",") }
    }

    private static func trimmed(_ piece: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var piece = piece
        while isSpace(piece.first) { piece.removeFirst() }
        while isSpace(piece.last) { piece.removeLast() }
        return piece
    }
}
