internal import GatewayCore
internal import NIOCore

@testable internal import GatewayHTTP

/// A client cannot change the origin that a trusted proxy appended to `X-Forwarded-For` or `Forwarded`, whatever the client wrote before
/// it.
enum ForwardedFieldsTarget: FuzzTarget {
    static func run(_ input: [UInt8]) {
        let written = input.filter { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
        check(.xForwardedFor, Array("x-forwarded-for: ".utf8), written, appended: "203.0.113.9")
        check(.forwarded, Array("forwarded: ".utf8), written, appended: "for=203.0.113.9;proto=https")
    }

    private static func check(_ source: TrustedProxies.Source, _ name: [UInt8], _ written: [UInt8], appended: String) {
        var request = Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8) + name + written
        request += Array(", \(appended)\r\n\r\n".utf8)
        var framer = RequestFramer(limits: ListenerConfiguration.Limits(), trustedProxy: source)
        framer.feed(ByteBuffer(bytes: request))
        guard case .request(let framed) = framer.next() else { return }
        guard let proxy = Peer(ipAddress: "192.0.2.1"), let client = Peer(ipAddress: "203.0.113.9") else {
            propertyFails("the addresses of the target are no addresses")
        }
        let origin = framed.origin(behind: proxy, TrustedProxies(proxies: [], source: source))
        guard origin?.peer.address == client.address else {
            propertyFails("the origin is \(origin.map { "\($0.peer)" } ?? "nobody")")
        }
    }
}
