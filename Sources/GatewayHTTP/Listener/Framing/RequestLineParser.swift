internal import GatewayCore

/// An incremental parser for `METHOD target HTTP/1.x` (RFC 9112, section 3), after at most two empty lines. Its result
/// does not depend on how the bytes are split into reads.
///
/// Stages: `start` ↔ `leadingLineFeed` for empty lines; `start` → `method` → `target` → `version` → `lineFeed`, which
/// completes the line.
struct RequestLineParser {
    private enum Stage {
        case start, leadingLineFeed, method, target, version, lineFeed
    }

    /// The maximum number of empty lines before a request line (RFC 9112, section 2.2, recommends at least one).
    private static let maximumEmptyLines = 2
    // `HTTP/1.` in the upper seven bytes. An integer is cheaper here than an array, because each request compares it.
    private static let versionPrefix: UInt64 = 0x4854_5450_2F31_2E00
    private static let version11 = versionPrefix | UInt64(UInt8(ascii: "1"))
    private static let versionPrefixLength = 7

    /// The position of the next byte to parse.
    private(set) var index = 0
    /// Whether a byte of the request line itself was parsed.
    var hasBegun: Bool { stage != .start && stage != .leadingLineFeed }
    private var stage = Stage.start
    private var leading = 0
    private var lineStart = 0
    private var mark = 0
    private var target = 0..<0
    private var questionMark: Int?

    /// Continues at `index`. The bytes must be everything received from the start of the line, including the bytes of
    /// earlier calls. Returns true when the line is complete and its contents are stored in `head`.
    mutating func advance(
        over bytes: borrowing Span<UInt8>, limit: Int, into head: inout RequestHead
    ) throws(FramingError) -> Bool {
        while index < bytes.count {
            let byte = bytes[index]
            if hasBegun, index - lineStart >= limit + 2 || (index - lineStart >= limit && !isLineEnding(byte)) {
                throw FramingError(code: .uriTooLong, detail: "the request line is too long")
            }
            switch stage {
            case .start:
                try start(byte)
                if stage == .method { continue }
            case .leadingLineFeed:
                guard byte == .lineFeed else { throw .malformed("a bare CR before the request line") }
                stage = .start
            case .method:
                if skip(bytes, limit, while: \.isTokenByte) { continue }
                if byte == .space {
                    try endMethod(bytes, into: &head)
                } else if !byte.isTokenByte {
                    throw .malformed("a method that is not a token")
                }
            case .target:
                if skip(bytes, limit, while: \.isPlainInTarget) { continue }
                try processTarget(byte, bytes, into: &head)
            case .version:
                // The fast path: the complete version has arrived and is HTTP/1.1.
                if index == mark, bytes.count - index >= 8, index + 8 - lineStart <= limit,
                    bytes.eightBytes(from: index) == Self.version11
                {
                    head.isVersion11 = true
                    index += 8
                    continue
                }
                try processVersion(byte, into: &head)
            case .lineFeed:
                guard byte == .lineFeed else { throw .malformed("a bare CR in the request line") }
                index += 1
                return true
            }
            index += 1
        }
        return false
    }

    // Skips bytes that need no action, up to the length limit of the line. Returns whether any byte was skipped.
    @inline(__always)
    private mutating func skip(
        _ bytes: borrowing Span<UInt8>, _ limit: Int, while isPlain: (UInt8) -> Bool
    ) -> Bool {
        let end = min(bytes.count, lineStart + limit)
        var place = index
        while place < end, isPlain(bytes[place]) { place += 1 }
        defer { index = place }
        return place > index
    }

    // The CR and LF at the end do not count towards the length limit.
    private func isLineEnding(_ byte: UInt8) -> Bool {
        byte == .carriageReturn && stage == .version || byte == .lineFeed && stage == .lineFeed
    }

    private mutating func start(_ byte: UInt8) throws(FramingError) {
        if byte == .carriageReturn {
            guard leading < Self.maximumEmptyLines else {
                throw .malformed("too many empty lines before the request line")
            }
            leading += 1
            stage = .leadingLineFeed
        } else {
            lineStart = index
            mark = index
            stage = .method
        }
    }

    private mutating func endMethod(
        _ bytes: borrowing Span<UInt8>, into head: inout RequestHead
    ) throws(FramingError) {
        let word = mark..<index
        guard !word.isEmpty else { throw .malformed("a request line without a method") }
        try head.process(method: word, in: bytes)
        mark = index + 1
        stage = .target
    }

    private mutating func processTarget(
        _ byte: UInt8, _ bytes: borrowing Span<UInt8>, into head: inout RequestHead
    ) throws(FramingError) {
        if byte == .space {
            target = mark..<index
            try RequestTarget.read(target, questionMark: questionMark, in: bytes, into: &head)
            mark = index + 1
            stage = .version
        } else if byte == UInt8(ascii: "?") {
            questionMark = questionMark ?? index
        } else if !byte.isVisible || byte == UInt8(ascii: "#") {
            throw .malformed("an invalid byte in the target")
        }
    }

    private mutating func processVersion(_ byte: UInt8, into head: inout RequestHead) throws(FramingError) {
        let place = index - mark
        switch place {
        case ..<Self.versionPrefixLength:
            let expected = UInt8(truncatingIfNeeded: Self.versionPrefix >> (56 - 8 * UInt64(place)))
            guard byte == expected else { throw .malformed("a version that is not HTTP/1.x") }
        case Self.versionPrefixLength:
            guard byte == UInt8(ascii: "0") || byte == UInt8(ascii: "1") else {
                throw .malformed("a version that is neither HTTP/1.0 nor HTTP/1.1")
            }
            head.isVersion11 = byte == UInt8(ascii: "1")
        default:
            guard byte == .carriageReturn else { throw .malformed("a request line that does not end in CRLF") }
            stage = .lineFeed
        }
    }
}
