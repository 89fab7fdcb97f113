internal import GatewayCore
internal import NIOCore

/// The forwarding fields of a request, as ranges in the head. They are read only from trusted proxies.
struct ForwardingFields {
    /// The kind of field that is read.
    let source: TrustedProxies.Source
    /// The values of `X-Forwarded-For` or `Forwarded`, in the order of the request.
    private var lists: [Range<Int>] = []
    /// The last `X-Forwarded-Proto`.
    private var scheme: Range<Int>?

    init(_ source: TrustedProxies.Source) { self.source = source }

    /// The maximum number of proxies that are followed from right to left.
    private static let maximumHops = 16

    /// Stores the field if it belongs to `source`.
    mutating func process(_ field: RequestField, _ value: Range<Int>) {
        switch (source, field) {
        case (.xForwardedFor, .xForwardedFor), (.forwarded, .forwarded): lists.append(value)
        case (.xForwardedFor, .xForwardedProto): scheme = value
        default: break
        }
    }

    /// Returns the client behind `proxy`. The list is read from the right, where each proxy appends the address of its
    /// own client, up to the first address that is not a trusted proxy. Values that the client itself sent are further
    /// to the left and are not reached.
    func origin(behind proxy: Peer, in head: ByteBuffer, trust: TrustedProxies) -> RequestOrigin {
        var origin = RequestOrigin(peer: proxy, isEncrypted: false)
        var walk = ReverseListParser(lists: lists.map { Self.text($0, in: head) })
        for _ in 0..<Self.maximumHops {
            guard let element = walk.next(), let hop = Self.hop(element, source) else { break }
            origin = RequestOrigin(peer: hop.peer, isEncrypted: hop.isEncrypted)
            if !trust.includes(hop.peer) { break }
        }
        if source == .xForwardedFor, let scheme {
            var schemes = ReverseListParser(lists: [Self.text(scheme, in: head)])
            origin.isEncrypted = schemes.next().map(Self.isHTTPS) ?? false
        }
        return origin
    }

    private static func hop(_ element: Substring, _ source: TrustedProxies.Source) -> RequestOrigin? {
        switch source {
        case .xForwardedFor: peer(element).map { RequestOrigin(peer: $0, isEncrypted: false) }
        case .forwarded:
            ForwardedElement(element).flatMap { element in
                element.node.flatMap(peer).map {
                    RequestOrigin(peer: $0, isEncrypted: element.scheme.map(isHTTPS) ?? false)
                }
            }
        case .proxyProtocol: nil
        }
    }

    /// Parses an address with an optional port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80` (RFC
    /// 7239, section 6).
    private static func peer(_ text: Substring) -> Peer? {
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let port = text[text.index(after: end)...]
            guard port.isEmpty || isPort(port) else { return nil }
            return Peer(ipAddress: String(text[text.index(after: text.startIndex)..<end]))
        }
        if let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon {
            return isPort(text[colon...]) ? Peer(ipAddress: String(text[..<colon])) : nil
        }
        return Peer(ipAddress: String(text))
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.first == ":" && (2...6).contains(text.utf8.count) && text.utf8.dropFirst().allSatisfy(\.isASCIIDigit)
    }

    private static func isHTTPS(_ text: Substring) -> Bool { text.lowercased() == "https" }

    private static func text(_ range: Range<Int>, in head: ByteBuffer) -> String {
        head.getString(at: head.readerIndex + range.lowerBound, length: range.count) ?? ""
    }
}
