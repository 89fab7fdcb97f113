internal import GatewaySupport

/// The members of a `tracestate` field: vendor-specific data of the systems that a trace passed (W3C Trace Context,
/// Level 1, section 3.3).
///
/// Accepted only from a trusted peer, and only together with a valid `traceparent`. Each member is checked against the
/// grammar and written anew. A list with any invalid member is dropped as a whole, as section 4.3 requires, and the
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
        guard let at = key.firstIndex(of: UInt8(ascii: "@")) else { return isName(key, most: 256) }
        let (tenant, system) = (key[..<at], key[(at + 1)...])
        return isName(tenant, most: 241, mayBeginWithDigit: true) && isName(system, most: 14)
    }

    private static func isName(_ name: ArraySlice<UInt8>, most: Int, mayBeginWithDigit: Bool = false) -> Bool {
        guard let first = name.first, name.count <= most else { return false }
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
