internal import NIOCore

/// Reads the first message of a TLS client (RFC 8446, section 4.1.2) far enough to see which protocols it offers by ALPN (RFC 7301).
///
/// A value without sockets. Bytes that are no such message are left to TLS itself, which answers them with an alert of its own.
enum ClientHello {
    /// What bytes amount to.
    enum Reading: Equatable {
        /// The message is not complete.
        case incomplete
        /// TLS may go on: the client offers one of the protocols, or none at all, or the bytes are no such message.
        case acceptable
        /// The client offers protocols, and none of them is spoken here.
        case noCommonProtocol
    }

    /// The alert that answers it (RFC 7301, section 3.2), as a record: level fatal, `no_application_protocol`.
    static let noApplicationProtocol = ByteBuffer(bytes: [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x78])

    /// A longer message is left to TLS: clients send some hundred bytes, some 2 KiB with keys for post-quantum exchanges.
    private static let maximumBytes = 16 * 1024

    private enum Code {
        static let handshakeRecord: UInt8 = 22
        static let clientHello: UInt8 = 1
        static let applicationProtocols: UInt16 = 16
    }

    /// Looks at the first bytes of a connection, and takes none of them.
    static func reading(of bytes: ByteBuffer, spoken: [String]) -> Reading {
        if bytes.readableBytes > maximumBytes { return .acceptable }
        var (records, message) = (bytes, ByteBuffer())
        while true {
            if let length = message.getUInt24(at: message.readerIndex + 1), message.readableBytes >= 4 + length {
                return offer(in: message, length: length, spoken: spoken)
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

    private static func offer(in message: ByteBuffer, length: Int, spoken: [String]) -> Reading {
        var message = message
        guard message.readInteger(as: UInt8.self) == Code.clientHello, message.readSlice(length: 3) != nil,
            var hello = message.readSlice(length: length),
            // The version, the random number, the session id, the cipher suites, the compression methods.
            hello.readSlice(length: 2 + 32) != nil, hello.readVector(UInt8.self) != nil,
            hello.readVector(UInt16.self) != nil, hello.readVector(UInt8.self) != nil,
            var extensions = hello.readVector(UInt16.self)
        else { return .acceptable }
        while let type = extensions.readInteger(as: UInt16.self), var value = extensions.readVector(UInt16.self) {
            guard type == Code.applicationProtocols else { continue }
            guard var names = value.readVector(UInt16.self), names.readableBytes > 0 else { return .acceptable }
            while let name = names.readVector(UInt8.self) {
                if spoken.contains(where: { name.readableBytesView.elementsEqual($0.utf8) }) { return .acceptable }
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

    /// Reads a length of that type and as many bytes (RFC 8446, section 3.4).
    fileprivate mutating func readVector<Length: FixedWidthInteger>(_: Length.Type) -> ByteBuffer? {
        readLengthPrefixedSlice(as: Length.self)
    }
}
