internal import GatewaySupport
internal import Glibc

/// The members of one journal line that the index stores, as ranges of the parsed bytes.
///
/// A line that the gateway wrote is parsed in one pass. For any other line the members are found with
/// ``JournalLineReader``, one by one, so that both give the same result for every line.
struct IndexedLine {
    /// The line's number.
    var number: UInt64 = 0
    /// The number of events that the line summarizes.
    var count: Int64 = 1
    /// Whether the line belongs to a send with an idempotency key.
    var hasIdempotencyKey = false
    /// The duration of the backend's response in milliseconds, from the member `ms`; nil if it is missing.
    var milliseconds: UInt64?
    private var hasCount = false
    private var hasMilliseconds = false
    /// The ranges of the members' texts in the parsed bytes; nil for a missing member.
    var at: Range<Int>?
    var kind: Range<Int>?
    var call: Range<Int>?
    var action: Range<Int>?
    var user: Range<Int>?
    var recipient: Range<Int>?
    var pns: Range<Int>?
    var result: Range<Int>?

    /// Parses the line in the range; nil if it has no number (``LineNumber``).
    init?(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
        guard !parse(bytes, range) else { return }
        self = IndexedLine()
        let reader = JournalLineReader(bytes: ArraySlice(bytes[range]))
        guard let number = reader.sequence else { return nil }
        func find(_ name: StaticString) -> Range<Int>? {
            reader.bytes(of: name).map { ($0.startIndex + range.lowerBound)..<($0.endIndex + range.lowerBound) }
        }
        self.number = number
        count = reader.count
        milliseconds = reader.number("ms")
        hasIdempotencyKey = reader.bytes(of: "idempotency") != nil
        (at, kind, call) = (find("at"), find("kind"), find("call"))
        (action, user, recipient) = (find("action"), find("user"), find("recipient"))
        (pns, result) = (find("pns"), find("result"))
    }

    private init() {}

    /// Parses a line in the form in which the gateway writes it. Returns false for any other form.
    private mutating func parse(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        guard range.count > Self.start.utf8CodeUnitCount, let base = bytes.baseAddress,
            memcmp(base + range.lowerBound, Self.start.utf8Start, Self.start.utf8CodeUnitCount) == 0
        else { return false }
        // A text with an escaped character is rare. Without one, a text ends at the next quotation mark.
        if memchr(base + range.lowerBound, CInt(UInt8(ascii: "\\")), range.count) != nil { return false }
        var offset = range.lowerBound + Self.start.utf8CodeUnitCount
        guard let number = LineNumber.read(bytes, at: &offset, before: range.upperBound) else { return false }
        self.number = number.value
        let quote = UInt8(ascii: "\"")
        while offset + 4 < range.upperBound {
            // `,"name":`
            guard bytes[offset] == UInt8(ascii: ","), bytes[offset + 1] == quote,
                let end = memchr(base + offset + 2, CInt(quote), range.upperBound - offset - 2)
            else { return false }
            let name = (offset + 2)..<(UnsafeRawPointer(end) - base)
            guard name.upperBound + 2 < range.upperBound, bytes[name.upperBound + 1] == UInt8(ascii: ":") else {
                return false
            }
            offset = name.upperBound + 2
            if bytes[offset] == quote {
                guard let end = memchr(base + offset + 1, CInt(quote), range.upperBound - offset - 1) else {
                    return false
                }
                let text = (offset + 1)..<(UnsafeRawPointer(end) - base)
                offset = text.upperBound + 1
                // The hash must be the only member that follows.
                if Self.equals(bytes, name, "prev") {
                    return range.upperBound - offset == Self.hashMemberBytes && bytes[offset] == UInt8(ascii: ",")
                        && memchr(base + offset + 1, CInt(UInt8(ascii: ",")), Self.hashMemberBytes - 1) == nil
                }
                guard store(text, bytes, name) else { return false }
            } else if (0x30...0x39).contains(bytes[offset]) {
                guard let value = Self.digits(bytes, &offset, range.upperBound) else { return false }
                guard store(value, bytes, name) else { return false }
            } else {
                // An array or another value. Few lines have one.
                return false
            }
        }
        return false
    }

    private static let start: StaticString = "{\"seq\":"
    /// The length of `,"hash":"`, 64 digits and `"}`.
    private static let hashMemberBytes = 9 + 64 + 2

    /// Stores a number. Returns false for a second `count` or `ms`, and for a member whose value must be a text.
    private mutating func store(_ value: UInt64, _ bytes: UnsafeRawBufferPointer, _ name: Range<Int>) -> Bool {
        if Self.equals(bytes, name, "count") {
            guard !hasCount else { return false }
            hasCount = true
            count = Int64(min(value, UInt64(JournalLineReader.counts.upperBound)))
            return true
        }
        if Self.equals(bytes, name, "ms") {
            guard !hasMilliseconds else { return false }
            hasMilliseconds = true
            milliseconds = value
            return true
        }
        return !Self.texts.contains { Self.equals(bytes, name, $0) }
    }

    private static let texts: [StaticString] = [
        "at", "kind", "call", "action", "user", "recipient", "pns", "result", "idempotency", "prev",
    ]

    /// Stores a text. Of several members with the same name, the first one counts. Returns false for a `count` or
    /// an `ms`, whose value must be a number.
    private mutating func store(_ text: Range<Int>, _ bytes: UnsafeRawBufferPointer, _ name: Range<Int>) -> Bool {
        func matches(_ word: StaticString) -> Bool { Self.equals(bytes, name, word) }
        switch name.count {
        case 2:
            if matches("ms") { return false }
            if at == nil, matches("at") { at = text }
        case 3: if pns == nil, matches("pns") { pns = text }
        case 4:
            if user == nil, matches("user") {
                user = text
            } else if kind == nil, matches("kind") {
                kind = text
            } else if call == nil, matches("call") {
                call = text
            }
        case 6:
            if action == nil, matches("action") {
                action = text
            } else if result == nil, matches("result") {
                result = text
            }
        case 5: if matches("count") { return false }
        case 9: if recipient == nil, matches("recipient") { recipient = text }
        case 11: if matches("idempotency") { hasIdempotencyKey = true }
        default: break
        }
        return true
    }

    private static func equals(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ word: StaticString) -> Bool {
        guard let base = bytes.baseAddress, range.count == word.utf8CodeUnitCount else { return false }
        return memcmp(base + range.lowerBound, word.utf8Start, range.count) == 0
    }

    /// Parses up to 19 digits and moves the offset behind them; nil if there are none, or more.
    private static func digits(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int, _ end: Int) -> UInt64? {
        let start = offset
        var value: UInt64 = 0
        while offset < end, offset - start < 19, (0x30...0x39).contains(bytes[offset]) {
            value = value * 10 + UInt64(bytes[offset] - 0x30)
            offset += 1
        }
        guard offset > start, offset < end, !(0x30...0x39).contains(bytes[offset]) else { return nil }
        return value
    }
}

/// Parses the times of consecutive lines, in microseconds since 1970. Caches the last second, because most lines share
/// it with the line before.
struct LineTimestampReader {
    /// The text up to the second, and its time. The text is short enough to be stored inline.
    private var second: (text: (UInt64, UInt64, UInt32), microseconds: Int64)?

    /// Returns the time at which the line was written; nil if the line has no valid time.
    mutating func time(of line: JournalLineReader) -> Int64? {
        guard let text = line.bytes(of: "at") else { return nil }
        return text.withUnsafeBytes { time(in: $0) }
    }

    /// Returns the time that the text states; nil if it is not valid.
    mutating func time(in text: UnsafeRawBufferPointer) -> Int64? {
        // The format is `2026-11-21T07:00:00.000000Z`.
        guard text.count == 27, text[19] == UInt8(ascii: "."), text[26] == UInt8(ascii: "Z") else {
            return Self.parsed(text)?.microseconds
        }
        let start = (
            text.loadUnaligned(as: UInt64.self), text.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
            text.loadUnaligned(fromByteOffset: 15, as: UInt32.self)
        )
        if second == nil || second?.text ?? (0, 0, 0) != start {
            guard let time = Self.parsed(text) else { return nil }
            second = (start, time.seconds * 1_000_000)
        }
        var fraction: Int64 = 0
        for index in 20..<26 {
            guard (0x30...0x39).contains(text[index]) else { return nil }
            fraction = fraction * 10 + Int64(text[index] - 0x30)
        }
        return (second?.microseconds ?? 0) + fraction
    }

    private static func parsed(_ text: UnsafeRawBufferPointer) -> WallTime? {
        WallTime(rfc3339: String(decoding: text, as: UTF8.self))
    }
}

extension JournalLineReader {
    /// The numbers of events that a line can summarize. Sums of forged counts cannot overflow.
    static let counts: ClosedRange<Int64> = 0...(1 << 40)

    /// The number of events that the line summarizes.
    var count: Int64 { Int64(min(number("count") ?? 1, UInt64(Self.counts.upperBound))) }
}
