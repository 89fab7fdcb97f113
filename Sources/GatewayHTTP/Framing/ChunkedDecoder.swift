internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A strict decoder for the chunked transfer coding (RFC 9112, section 7.1). It rejects white space around sizes, and a
/// bare CR or LF.
///
/// Chunk extensions and trailer fields are checked for syntax and size, and then ignored.
///
/// Stages, each with its successors: `size` → `extensions`, `sizeLineFeed`; `extensions` → `sizeLineFeed`;
/// `sizeLineFeed` → `data`, or `trailers` after a chunk of size 0; `data` → `dataCarriageReturn` → `dataLineFeed` →
/// `size`; `trailers` ends the body.
struct ChunkedDecoder {
    private enum Stage {
        case size(digits: Int), extensions(isNamed: Bool), sizeLineFeed
        case data, dataCarriageReturn, dataLineFeed, trailers(FieldParser)
    }

    /// The maximum number of digits in the size of one chunk.
    static let sizeDigits = 8
    /// The maximum length of all chunk extensions of one body, in bytes.
    static let extensionBytes = 4096

    private let bodyLimit: Int
    private let trailerLimit: Int
    private let trailerCount: Int
    private var stage = Stage.size(digits: 0)
    private var chunkLeft = 0
    private var extensionLeft = ChunkedDecoder.extensionBytes

    /// Creates a decoder for one body.
    ///
    /// - Parameters:
    ///   - bodyLimit: The maximum length of the decoded body, in bytes.
    ///   - trailerLimit: The maximum length of the trailer section, in bytes.
    ///   - trailerCount: The maximum number of trailer fields.
    init(bodyLimit: Int, trailerLimit: Int, trailerCount: Int) {
        self.bodyLimit = bodyLimit
        self.trailerLimit = trailerLimit
        self.trailerCount = trailerCount
    }

    /// Consumes bytes of `buffer` and appends the decoded data to `body`. Returns true when the body is complete; bytes
    /// after its end stay in `buffer`.
    mutating func decode(_ buffer: inout ByteBuffer, into body: inout ByteBuffer) throws(FramingError) -> Bool {
        while true {
            switch stage {
            case .data:
                guard let data = buffer.readSlice(length: min(chunkLeft, buffer.readableBytes)) else { return false }
                chunkLeft -= data.readableBytes
                body.writeImmutableBuffer(data)
                guard chunkLeft == 0 else { return false }
                stage = .dataCarriageReturn
            case .trailers(var parser):
                let complete = try Self.skipTrailers(buffer.readableBytesUInt8Span, parser: &parser)
                stage = .trailers(parser)
                guard complete else { return false }
                buffer.moveReaderIndex(forwardBy: parser.index)
                return true
            case .size, .extensions, .sizeLineFeed, .dataCarriageReturn, .dataLineFeed:
                guard let byte = buffer.readInteger(as: UInt8.self) else { return false }
                try process(byte, decoded: body.readableBytes)
            }
        }
    }

    private mutating func process(_ byte: UInt8, decoded: Int) throws(FramingError) {
        switch stage {
        case .size(let digits):
            try processSize(byte, digits: digits, decoded: decoded)
        case .extensions(let isNamed):
            if byte == .carriageReturn, isNamed {
                stage = .sizeLineFeed
                return
            }
            extensionLeft -= 1
            guard extensionLeft > 0, byte.isVisible || byte.isOptionalWhitespace else {
                throw .malformed("a chunk extension that is unnamed, too long, or contains a control character")
            }
            stage = .extensions(isNamed: byte != UInt8(ascii: ";"))
        case .sizeLineFeed:
            guard byte == .lineFeed else { throw .malformed("a chunk size line without LF") }
            let trailers = FieldParser(startingAt: 0, bytes: trailerLimit, count: trailerCount)
            stage = chunkLeft > 0 ? .data : .trailers(trailers)
        case .dataCarriageReturn:
            guard byte == .carriageReturn else { throw .malformed("a chunk that is longer than its size") }
            stage = .dataLineFeed
        case .dataLineFeed:
            guard byte == .lineFeed else { throw .malformed("a chunk that does not end in CRLF") }
            stage = .size(digits: 0)
        case .data, .trailers:
            // `decode` processes these stages itself and never calls this function in them.
            throw .malformed("a chunk element out of order")
        }
    }

    private mutating func processSize(_ byte: UInt8, digits: Int, decoded: Int) throws(FramingError) {
        if let digit = byte.hexDigitValue {
            guard digits < Self.sizeDigits else { throw .malformed("a chunk size with too many digits") }
            chunkLeft = chunkLeft << 4 | Int(digit)
            guard chunkLeft <= bodyLimit - decoded else {
                throw FramingError(code: .payloadTooLarge, detail: "the chunked body is too long")
            }
            stage = .size(digits: digits + 1)
        } else if digits > 0, byte == .carriageReturn {
            stage = .sizeLineFeed
        } else if digits > 0, byte == UInt8(ascii: ";") {
            stage = .extensions(isNamed: false)
        } else {
            throw .malformed("a chunk size that is not a hexadecimal number")
        }
    }

    private static func skipTrailers(
        _ bytes: borrowing Span<UInt8>, parser: inout FieldParser
    ) throws(FramingError) -> Bool {
        while true {
            switch try parser.next(in: bytes) {
            case .incomplete: return false
            case .field: continue
            case .end: return true
            }
        }
    }
}
