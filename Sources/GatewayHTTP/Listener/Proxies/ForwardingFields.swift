internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The forwarding fields of a request, as ranges in the head. They are read only from trusted proxies.
struct ForwardingFields {
    /// The kind of field that is read.
    let source: TrustedProxies.Source
    /// The values of `X-Forwarded-For` or `Forwarded`, in the order of the request.
    private var lists: [Range<Int>] = []
    /// The last `X-Forwarded-Proto`.
    private var scheme: Range<Int>?
    /// The lines of `Client-Cert` (RFC 9440). More than one is an error.
    private(set) var certificates: [Range<Int>] = []
    /// The lines of `Client-Cert-Chain` in order. Together they form one list.
    private(set) var intermediates: [Range<Int>] = []

    init(_ source: TrustedProxies.Source) { self.source = source }

    /// The maximum number of proxies that are followed from right to left.
    private static let maximumHops = 16

    /// Stores the field if it belongs to `source`.
    mutating func process(_ field: RequestField, _ value: Range<Int>) {
        switch (source, field) {
        case (.xForwardedFor, .xForwardedFor), (.forwarded, .forwarded): lists.append(value)
        case (.xForwardedFor, .xForwardedProto): scheme = value
        case (.xForwardedFor, .clientCert), (.forwarded, .clientCert): certificates.append(value)
        case (.xForwardedFor, .clientCertChain), (.forwarded, .clientCertChain): intermediates.append(value)
        default: break
        }
    }

    /// Returns the client behind `proxy`. The list is read from the right, where each proxy appends the address of its
    /// own client, up to the first address that is not a trusted proxy. Values that the client itself sent are further
    /// to the left and are not reached.
    func origin(behind proxy: Peer, in head: ByteBuffer, trust: TrustedProxies) -> RequestOrigin {
        var origin = RequestOrigin(peer: proxy, isEncrypted: false)
        var walk = ReverseListParser(lists: lists.map { Self.bytes($0, in: head) })
        for _ in 0..<Self.maximumHops {
            guard let element = walk.next(), let hop = Self.hop(element, source) else { break }
            origin = RequestOrigin(peer: hop.peer, isEncrypted: hop.isEncrypted)
            if !trust.includes(hop.peer) { break }
        }
        if source == .xForwardedFor, let scheme {
            var schemes = ReverseListParser(lists: [Self.bytes(scheme, in: head)])
            origin.isEncrypted = schemes.next()?.equalsIgnoringCase("https") ?? false
        }
        return origin
    }

    /// Parses an element. Returns nil if it is no address, as is every element with a byte beyond ASCII.
    private static func hop(_ element: ByteBufferView, _ source: TrustedProxies.Source) -> RequestOrigin? {
        guard element.allSatisfy({ $0 < 0x80 }) else { return nil }
        switch source {
        case .xForwardedFor: return peer(element).map { RequestOrigin(peer: $0, isEncrypted: false) }
        case .forwarded:
            guard let element = ForwardedElement(element), let peer = element.node.flatMap(peer) else { return nil }
            return RequestOrigin(peer: peer, isEncrypted: element.scheme?.equalsIgnoringCase("https") ?? false)
        case .proxyProtocol: return nil
        }
    }

    /// Parses an address with an optional port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80` (RFC
    /// 7239, section 6).
    private static func peer(_ bytes: ByteBufferView) -> Peer? {
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let port = bytes[(end + 1)...]
            guard port.isEmpty || isPort(port) else { return nil }
            return Peer(ipAddress: String(decoding: bytes[(bytes.startIndex + 1)..<end], as: UTF8.self))
        }
        if let colon = bytes.firstIndex(of: .colon), bytes.lastIndex(of: .colon) == colon {
            guard isPort(bytes[colon...]) else { return nil }
            return Peer(ipAddress: String(decoding: bytes[..<colon], as: UTF8.self))
        }
        return Peer(ipAddress: String(decoding: bytes, as: UTF8.self))
    }

    private static func isPort(_ bytes: ByteBufferView) -> Bool {
        bytes.first == .colon && (2...6).contains(bytes.count) && bytes.dropFirst().allSatisfy(\.isASCIIDigit)
    }

    /// Returns the bytes of a value.
    static func bytes(_ range: Range<Int>, in head: ByteBuffer) -> ByteBufferView {
        head.viewBytes(at: head.readerIndex + range.lowerBound, length: range.count) ?? ByteBufferView()
    }
}
