internal import NIOCore

/// A parser for the first message of a TLS client (RFC 8446, section 4.1.2). It reads the protocols that the client
/// offers through ALPN (RFC 7301).
///
/// It holds no state and does not touch the channel. Bytes that are not a ClientHello are left to the TLS library,
/// which sends its own alert.
enum ClientHello {
    /// The result of parsing the first bytes of a connection.
    enum Reading: Equatable {
        /// The message is incomplete; more bytes are needed.
        case incomplete
        /// The handshake may continue: one of the offered protocols is supported, or the client offers none, or the
        /// bytes are not a ClientHello.
        case acceptable
        /// The client offers protocols and the listener supports none of them.
        case noCommonProtocol
    }

    /// The TLS record with the fatal alert `no_application_protocol` (RFC 7301, section 3.2).
    static let noApplicationProtocol = ByteBuffer(bytes: [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x78])

    /// The size limit of the parser, in bytes. A longer message is left to the TLS library. Usual clients send some
    /// hundred bytes, or about 2 KiB with keys for post-quantum key exchange.
    private static let maximumBytes = 16 * 1024

    private enum Code {
        static let handshakeRecord: UInt8 = 22
        static let clientHello: UInt8 = 1
        static let applicationProtocols: UInt16 = 16
    }

    /// Parses the first bytes of a connection without consuming them.
    ///
    /// - Parameter supported: The protocols that the listener supports.
    static func reading(of bytes: ByteBuffer, supported: [String]) -> Reading {
        if bytes.readableBytes > maximumBytes { return .acceptable }
        var (records, message) = (bytes, ByteBuffer())
        while true {
            if let length = message.getUInt24(at: message.readerIndex + 1), message.readableBytes >= 4 + length {
                return offer(in: message, length: length, supported: supported)
            }
            guard let type = records.getInteger(at: records.readerIndex, as: UInt8.self) else { return .incomplete }
            guard type == Code.handshakeRecord else { return .acceptable }
            guard let length = records.getInteger(at: records.readerIndex + 3, as: UInt16.self) else {
                return .incomplete
            }
            // A record without content would never complete the message.
            guard length > 0 else { return .acceptable }
            guard records.readableBytes >= 5 + Int(length) else { return .incomplete }
            records.moveReaderIndex(forwardBy: 5)
            guard var fragment = records.readSlice(length: Int(length)) else { return .incomplete }
            message.writeBuffer(&fragment)
        }
    }

    private static func offer(in message: ByteBuffer, length: Int, supported: [String]) -> Reading {
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
    fileprivate func getUInt24(at index: Int) -> Int? {
        guard let upper = getInteger(at: index, as: UInt8.self), let lower = getInteger(at: index + 1, as: UInt16.self)
        else { return nil }
        return Int(upper) << 16 | Int(lower)
    }

    /// Reads a length of the given type and that number of bytes (RFC 8446, section 3.4).
    fileprivate mutating func readVector<Length: FixedWidthInteger>(_: Length.Type) -> ByteBuffer? {
        readLengthPrefixedSlice(as: Length.self)
    }
}
