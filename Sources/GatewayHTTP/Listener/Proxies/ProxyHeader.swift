internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The header of the PROXY protocol, version 1 or 2 ("The PROXY protocol", HAProxy, sections 2.1 and 2.2). It reports
/// the client of a proxied connection.
struct ProxyHeader: Equatable {
    /// The client; nil if the proxy opened the connection for itself, for example for a health check.
    var client: Peer?
    /// Whether the client's connection to the proxy was encrypted. Only version 2 can report this.
    var isEncrypted: Bool

    /// The result of parsing the first bytes of a connection.
    enum ParseResult: Equatable {
        /// The header is incomplete.
        case incomplete
        /// A complete header. Its bytes were consumed.
        case header(ProxyHeader)
        /// The bytes are not a header, or a header that is not supported.
        case malformed
    }

    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let linePrefix = Array("PROXY ".utf8)
    private static let maximumLineLength = 107
    /// The maximum length of addresses and extensions in version 2, in bytes. It is well above the usual length.
    private static let maximumBytes = 2048

    /// Parses the header at the start of the bytes and consumes exactly its bytes.
    static func read(_ bytes: inout ByteBuffer) -> ParseResult {
        let view = bytes.readableBytesView
        if view.starts(with: signature) { return readBinary(&bytes) }
        if view.starts(with: linePrefix) { return readLine(&bytes) }
        let isBeginning = signature.starts(with: view) || linePrefix.starts(with: view)
        return isBeginning ? .incomplete : .malformed
    }

    private static func readLine(_ bytes: inout ByteBuffer) -> ParseResult {
        let view = bytes.readableBytesView.prefix(maximumLineLength)
        guard let end = view.firstIndex(of: .lineFeed) else {
            return view.count < maximumLineLength ? .incomplete : .malformed
        }
        // The line consists of ASCII, and is split by bytes, because a `Character` can contain a space.
        guard view[view.index(before: end)] == .carriageReturn, view[..<end].allSatisfy({ $0 < 0x80 }) else {
            return .malformed
        }
        let line = view[..<view.index(before: end)]
        bytes.moveReaderIndex(forwardBy: end + 1 - view.startIndex)
        let parts = line.split(separator: .space, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        if parts.count >= 2, parts[1] == "UNKNOWN" { return .header(ProxyHeader(client: nil, isEncrypted: false)) }
        guard parts.count == 6, let client = Peer(ipAddress: parts[2]), isPort(parts[4]), isPort(parts[5]),
            let target = Peer(ipAddress: parts[3])
        else { return .malformed }
        // An IPv4-mapped address is written as IPv6, although `Peer` represents it as IPv4.
        let isVersion4 = !parts[2].contains(":") && !parts[3].contains(":")
        let isVersion6 = parts[2].contains(":") && parts[3].contains(":")
        guard parts[1] == "TCP4" && isVersion4 || parts[1] == "TCP6" && isVersion6 else { return .malformed }
        _ = target
        return .header(ProxyHeader(client: client, isEncrypted: false))
    }

    private static func isPort(_ text: String) -> Bool {
        (1...5).contains(text.utf8.count) && text.utf8.allSatisfy(\.isASCIIDigit)
            && Int(text).map { $0 <= 65_535 } == true
    }

    private static func readBinary(_ bytes: inout ByteBuffer) -> ParseResult {
        let start = bytes.readerIndex + signature.count
        guard let kind = bytes.getInteger(at: start, as: UInt8.self),
            let family = bytes.getInteger(at: start + 1, as: UInt8.self),
            let length = bytes.getInteger(at: start + 2, as: UInt16.self)
        else { return .incomplete }
        guard kind == 0x20 || kind == 0x21, length <= maximumBytes else { return .malformed }
        guard bytes.readableBytes >= signature.count + 4 + Int(length) else { return .incomplete }
        bytes.moveReaderIndex(forwardBy: signature.count + 4)
        // The slice exists because the length was checked above.
        var rest = bytes.readSlice(length: Int(length)) ?? ByteBuffer()
        // LOCAL: the proxy opened the connection for itself, and the addresses are ignored.
        if kind == 0x20 { return .header(ProxyHeader(client: nil, isEncrypted: false)) }
        let client: Peer?
        switch family {
        case 0x11:
            guard let address = rest.readInteger(as: UInt32.self), rest.readSlice(length: 8) != nil else {
                return .malformed
            }
            client = Peer(v4: address)
        case 0x21:
            guard let upper = rest.readInteger(as: UInt64.self), let lower = rest.readInteger(as: UInt64.self),
                rest.readSlice(length: 20) != nil
            else { return .malformed }
            client = Peer(v6: upper, lower)
        case 0x31:
            guard rest.readSlice(length: 216) != nil else { return .malformed }
            client = Peer(address: .local, text: "unix")
        case 0x00:
            client = nil
        default:
            // Only stream sockets are supported.
            return .malformed
        }
        guard let isEncrypted = isEncrypted(rest) else { return .malformed }
        return .header(ProxyHeader(client: client, isEncrypted: isEncrypted))
    }

    /// Returns whether the extension `PP2_TYPE_SSL` has the bit `PP2_CLIENT_SSL`; nil if the extensions are malformed.
    private static func isEncrypted(_ extensions: ByteBuffer) -> Bool? {
        var extensions = extensions
        var isEncrypted = false
        while extensions.readableBytes > 0 {
            guard let type = extensions.readInteger(as: UInt8.self),
                let length = extensions.readInteger(as: UInt16.self),
                let value = extensions.readSlice(length: Int(length))
            else { return nil }
            if type == 0x20, let client = value.getInteger(at: value.readerIndex, as: UInt8.self) {
                isEncrypted = client & 1 == 1
            }
        }
        return isEncrypted
    }
}
