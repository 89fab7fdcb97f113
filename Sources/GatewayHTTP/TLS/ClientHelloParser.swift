internal import NIOCore

/// A parser for the first message of a TLS client (RFC 8446, section 4.1.2). It reads the protocols that the client
/// offers through ALPN (RFC 7301).
///
/// It keeps its position but no bytes, and does not touch the channel. Each call continues where the last one stopped,
/// so that its work is proportional to the number of bytes however they are split. Bytes that are not a ClientHello are
/// left to the TLS library, which sends its own alert.
struct ClientHelloParser {
    /// The result of parsing the first bytes of a connection.
    enum ParseResult: Equatable {
        /// The message is incomplete; more bytes are needed.
        case incomplete
        /// The handshake may continue: one of the offered protocols is supported, or the client offers none, or the
        /// bytes are not a ClientHello.
        case acceptable
        /// The client offers protocols and the listener supports none of them.
        case noCommonProtocol
        /// The message is longer than 16 KiB, or it is incomplete after 17 KiB of records.
        case tooLong
    }

    /// The TLS record with the fatal alert `no_application_protocol` (RFC 7301, section 3.2).
    static let noApplicationProtocol = ByteBuffer(bytes: [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x78])

    /// The TLS record with the fatal alert `illegal_parameter` (RFC 8446, section 6.2), which the TLS library sends for a
    /// message that is too long.
    static let illegalParameter = ByteBuffer(bytes: [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x2F])

    /// The maximum length of the message, in bytes. Usual clients send some hundred bytes, or about 2 KiB with keys for
    /// post-quantum key exchange. The TLS library has the same limit, but 100 KiB if it asks for client certificates.
    private static let maximumMessageBytes = 16 * 1024
    /// The maximum length of its records with their headers, in bytes.
    private static let maximumBytes = 17 * 1024

    /// The length of the header of a record, and that of a message.
    private static let headerBytes = (record: 5, message: 4)

    private enum Code {
        static let handshakeRecord: UInt8 = 22
        static let clientHello: UInt8 = 1
        static let applicationProtocols: UInt16 = 16
    }

    /// The number of record headers that were parsed, including repetitions for an incomplete record.
    private(set) var parsedHeaders = 0
    /// The length of the complete records.
    private var recordBytes = 0
    /// The length of their content.
    private var messageBytes = 0
    /// The first bytes of the message: its type and its length.
    private var messageHeader: UInt32 = 0

    /// Parses the first bytes of a connection without consuming them.
    ///
    /// - Parameters:
    ///   - bytes: All bytes of the connection so far.
    ///   - supported: The protocols that the listener supports.
    mutating func parse(_ bytes: ByteBuffer, supported: [String]) -> ParseResult {
        while true {
            let length = Int(messageHeader & 0xFF_FFFF)
            if messageBytes >= Self.headerBytes.message {
                if length > Self.maximumMessageBytes { return .tooLong }
                if messageBytes >= Self.headerBytes.message + length {
                    return Self.offer(in: message(of: bytes), length: length, supported: supported)
                }
            }
            if let result = parseRecord(bytes) {
                return result == .incomplete && bytes.readableBytes > Self.maximumBytes ? .tooLong : result
            }
        }
    }

    // Returns nil if the next record is complete.
    private mutating func parseRecord(_ bytes: ByteBuffer) -> ParseResult? {
        parsedHeaders += 1
        let start = bytes.readerIndex + recordBytes
        guard let type = bytes.getInteger(at: start, as: UInt8.self) else { return .incomplete }
        guard type == Code.handshakeRecord else { return .acceptable }
        guard let length = bytes.getInteger(at: start + 3, as: UInt16.self) else { return .incomplete }
        // A record without content would never complete the message.
        guard length > 0 else { return .acceptable }
        guard bytes.writerIndex >= start + Self.headerBytes.record + Int(length) else { return .incomplete }
        let missing = max(0, Self.headerBytes.message - messageBytes)
        for place in 0..<min(missing, Int(length)) {
            let byte = bytes.getInteger(at: start + Self.headerBytes.record + place, as: UInt8.self) ?? 0
            messageHeader = messageHeader << 8 | UInt32(byte)
        }
        messageBytes += Int(length)
        recordBytes += Self.headerBytes.record + Int(length)
        return nil
    }

    // Returns the content of the complete records.
    private func message(of bytes: ByteBuffer) -> ByteBuffer {
        var message = ByteBuffer()
        message.reserveCapacity(messageBytes)
        var records = bytes.getSlice(at: bytes.readerIndex, length: recordBytes) ?? ByteBuffer()
        while records.readSlice(length: 3) != nil, var fragment = records.readVector(UInt16.self) {
            message.writeBuffer(&fragment)
        }
        return message
    }

    private static func offer(in message: ByteBuffer, length: Int, supported: [String]) -> ParseResult {
        var message = message
        guard message.readInteger(as: UInt8.self) == Code.clientHello, message.readSlice(length: 3) != nil,
            var hello = message.readSlice(length: length),
            // Version, random, session id, cipher suites and compression methods.
            hello.readSlice(length: 2 + 32) != nil, hello.readVector(UInt8.self) != nil,
            hello.readVector(UInt16.self) != nil, hello.readVector(UInt8.self) != nil,
            var extensions = hello.readVector(UInt16.self)
        else { return .acceptable }
        while let type = extensions.readInteger(as: UInt16.self), var value = extensions.readVector(UInt16.self) {
            guard type == Code.applicationProtocols else { continue }
            guard var names = value.readVector(UInt16.self), names.readableBytes > 0 else { return .acceptable }
            while let name = names.readVector(UInt8.self) {
                if supported.contains(where: { name.readableBytesView.elementsEqual($0.utf8) }) { return .acceptable }
            }
            return names.readableBytes == 0 ? .noCommonProtocol : .acceptable
        }
        return .acceptable
    }
}

extension ByteBuffer {
    /// Reads a length of the given type and that number of bytes (RFC 8446, section 3.4).
    fileprivate mutating func readVector<Length: FixedWidthInteger>(_: Length.Type) -> ByteBuffer? {
        readLengthPrefixedSlice(as: Length.self)
    }
}
