import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// For whom a listed proxy speaks, and for whom nobody else does.
@Suite struct ForwardingTests {
    private static let proxies = ["10.0.0.0/8", "2001:db8:aaaa::/48"].compactMap(AddressRange.init)

    private func origin(
        _ source: TrustedProxies.Source, _ fields: String, from proxy: String = "10.0.0.1"
    ) throws -> String {
        var framer = RequestFramer(limits: .init(), trustedProxy: source)
        framer.feed(ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"))
        guard case .request(let request) = framer.next() else { return "no request" }
        let peer = try #require(Peer(ipAddress: proxy))
        let trust = TrustedProxies(proxies: Self.proxies, source: source)
        guard let origin = request.origin(behind: peer, trust) else { return "itself" }
        return origin.peer.text + (origin.isEncrypted ? " https" : "")
    }

    @Test(arguments: [
        ("", "10.0.0.1"),
        ("X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1"),
        ("x-forwarded-FOR: 192.0.2.1:4711\r\n", "192.0.2.1"),
        ("X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1"),
        ("X-Forwarded-For: [2001:db8::1]:80\r\n", "2001:db8::1"),
        ("X-Forwarded-For: ::ffff:192.0.2.1\r\n", "192.0.2.1"),
        // What the client has put there is further to the left.
        ("X-Forwarded-For: 198.51.100.9, 192.0.2.1\r\n", "192.0.2.1"),
        ("X-Forwarded-For: 198.51.100.9\r\nX-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1"),
        // Proxies behind proxies are walked past.
        ("X-Forwarded-For: 198.51.100.9, 192.0.2.1, 10.0.0.2,10.9.9.9\r\n", "192.0.2.1"),
        ("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 2001:db8:aaaa::1, 10.0.0.2\r\n", "192.0.2.1"),
        ("X-Forwarded-For: 10.0.0.3, 10.0.0.2\r\n", "10.0.0.3"),
        ("X-Forwarded-For: 192.0.2.1, , \r\n", "192.0.2.1"),
        // What is no address ends the way where it is.
        ("X-Forwarded-For: 192.0.2.1, unknown\r\n", "10.0.0.1"),
        ("X-Forwarded-For: 192.0.2.1, _hidden, 10.0.0.2\r\n", "10.0.0.2"),
        ("X-Forwarded-For: 192.0.2.1:x\r\n", "10.0.0.1"),
        ("X-Forwarded-For: [192.0.2.1\r\n", "10.0.0.1"),
        ("X-Forwarded-For: 192.0.2.1\u{E9}\r\n", "10.0.0.1"),
        // The other field counts for nothing, and neither do names that look alike.
        ("Forwarded: for=192.0.2.1;proto=https\r\n", "10.0.0.1"),
        ("X_Forwarded_For: 192.0.2.1\r\nX-ForwardedFor: 192.0.2.1\r\n", "10.0.0.1"),
        ("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n", "192.0.2.1 https"),
        ("X-Forwarded-Proto: HTTPS\r\n", "10.0.0.1 https"),
        ("X-Forwarded-Proto: http\r\n", "10.0.0.1"),
        ("X-Forwarded-Proto: https, http\r\n", "10.0.0.1"),
        ("X-Forwarded-Proto: https\r\nX-Forwarded-Proto: http\r\n", "10.0.0.1"),
        ("X-Forwarded-Proto: httpss\r\n", "10.0.0.1"),
        ("X_Forwarded_Proto: https\r\n", "10.0.0.1"),
    ])
    func theCommonFieldIsWalkedFromTheRight(_ fields: String, _ expected: String) throws {
        #expect(try origin(.xForwardedFor, fields) == expected)
    }

    @Test(arguments: [
        ("", "10.0.0.1"),
        ("Forwarded: for=192.0.2.1\r\n", "192.0.2.1"),
        ("Forwarded: For=192.0.2.1;Proto=https;by=10.0.0.1\r\n", "192.0.2.1 https"),
        ("Forwarded: proto=https; for=\"[2001:db8::1]:4711\"\r\n", "2001:db8::1 https"),
        ("Forwarded: for=198.51.100.9;proto=https, for=192.0.2.1\r\n", "192.0.2.1"),
        ("Forwarded: for=198.51.100.9\r\nForwarded: for=192.0.2.1;proto=https\r\n", "192.0.2.1 https"),
        ("Forwarded: for=192.0.2.1;proto=https, for=10.0.0.2;proto=http\r\n", "192.0.2.1 https"),
        // Whatever a client leaves open swallows nothing of what a proxy has put behind it.
        ("Forwarded: for=\"198.51.100.9, for=192.0.2.1;proto=https\r\n", "192.0.2.1 https"),
        ("Forwarded: for=\"x\\\", for=192.0.2.1\r\n", "192.0.2.1"),
        ("Forwarded: for=192.0.2.1, for=unknown\r\n", "10.0.0.1"),
        ("Forwarded: for=192.0.2.1, for=_x, for=10.0.0.2\r\n", "10.0.0.2"),
        ("Forwarded: for=192.0.2.1;for=198.51.100.9\r\n", "10.0.0.1"),
        ("Forwarded: for=192.0.2.1;proto=https;proto=https\r\n", "10.0.0.1"),
        ("Forwarded: 192.0.2.1\r\n", "10.0.0.1"),
        ("Forwarded: for=\"192.0.2.1\r\n", "10.0.0.1"),
        ("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n", "10.0.0.1"),
    ])
    func theStandardFieldIsWalkedFromTheRight(_ fields: String, _ expected: String) throws {
        #expect(try origin(.forwarded, fields) == expected)
    }

    @Test func aWayThatIsTooLongIsNotFollowedToItsEnd() throws {
        let hops = (1...40).map { "10.0.0.\($0)" }.joined(separator: ", ")
        #expect(try origin(.xForwardedFor, "X-Forwarded-For: 192.0.2.1, \(hops)\r\n").hasPrefix("10.0.0."))
    }

    @Test func mutatedFieldsAreFollowedOrNot() throws {
        var random = SeededGenerator(seed: 7)
        let bytes = Array("\"\\,;=[]: .0aF%_-\t".utf8)
        for source in [TrustedProxies.Source.xForwardedFor, .forwarded] {
            let name = source == .forwarded ? "Forwarded" : "X-Forwarded-For"
            let value =
                source == .forwarded ? "for=\"[2001:db8::1]:80\";proto=https, for=10.0.0.2" : "192.0.2.1, 10.0.0.2"
            for _ in 0..<5000 {
                var text = Array(value.utf8)
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    text.insert(
                        bytes[Int.random(in: 0..<bytes.count, using: &random)],
                        at: Int.random(in: 0...text.count, using: &random))
                }
                // Nothing traps, and there is always somebody.
                #expect(try !origin(source, "\(name): \(String(decoding: text, as: UTF8.self))\r\n").isEmpty)
            }
        }
    }

    /// The whole way: whether the peer is listed decides, and so does what the listener goes by.
    @Test(arguments: [
        (["127.0.0.1"], TrustedProxies.Source.xForwardedFor, "192.0.2.1 true"),
        (["127.0.0.1"], .forwarded, "198.51.100.1 false"),
        (["127.0.0.2", "10.0.0.0/8"], .xForwardedFor, "127.0.0.1 false"), ([], .xForwardedFor, "127.0.0.1 false"),
    ])
    func onlyAListedPeerIsBelieved(_ listed: [String], _ source: TrustedProxies.Source, _ expected: String) throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.peer) \($0.allowsCredentials)".utf8)) }
        let connection = try EmbeddedConnection(serving, allowsCredentials: false) {
            $0.trust = TrustedProxies(proxies: listed.compactMap(AddressRange.init), source: source)
        }
        try connection.send(
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n"
                + "Forwarded: for=198.51.100.1;proto=http\r\n\r\n")
        #expect(try connection.answers() == ["200 \(expected)"])
    }

    @Test(
        "On a listener of this machine, too, a listed proxy's word decides whether credentials came in the clear",
        arguments: [
            ("", false, "false"), ("X-Forwarded-Proto: http\r\n", false, "false"),
            ("X-Forwarded-Proto: https\r\n", false, "true"), ("", true, "true"),
            ("X-Forwarded-Proto: http\r\n", true, "true"),
        ])
    func localListener(_ fields: String, _ allowsPlaintext: Bool, _ expected: String) throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.allowsCredentials)".utf8)) }
        let connection = try EmbeddedConnection(serving, allowsCredentials: true) {
            $0.trust = TrustedProxies(proxies: [AddressRange("127.0.0.1")].compactMap(\.self))
            $0.plaintextCredentials = allowsPlaintext
        }
        try connection.send("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\(fields)\r\n")
        #expect(try connection.answers() == ["200 \(expected)"])
    }

    @Test("Calls count by the address of the client behind a proxy, and never by a proxy's")
    func countedAddress() throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.peer) \($0.countsByAddress)".utf8)) }
        for (listed, fields, expected) in [
            (["127.0.0.1"], "X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1 true"),
            (["127.0.0.1"], "", "127.0.0.1 false"),
            (["127.0.0.1", "10.0.0.0/8"], "X-Forwarded-For: 10.0.0.1\r\n", "10.0.0.1 false"),
            ([], "X-Forwarded-For: 192.0.2.1\r\n", "127.0.0.1 true"),
        ] {
            let connection = try EmbeddedConnection(serving) {
                $0.trust = TrustedProxies(proxies: listed.compactMap(AddressRange.init))
            }
            try connection.send("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
            #expect(try connection.answers() == ["200 \(expected)"])
        }
    }

    @Test func fieldsOfTheLastRequestAreForgotten() throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.peer) \($0.allowsCredentials)".utf8)) }
        let connection = try EmbeddedConnection(serving, allowsCredentials: false) {
            $0.trust = TrustedProxies(proxies: [AddressRange("127.0.0.1")].compactMap(\.self))
        }
        try connection.send(
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n\r\n")
        try connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try connection.answers() == ["200 192.0.2.1 true", "200 127.0.0.1 false"])
    }

    @Test func trailersSayNothing() throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.peer)".utf8)) }
        let connection = try EmbeddedConnection(serving) {
            $0.trust = TrustedProxies(proxies: [AddressRange("127.0.0.1")].compactMap(\.self))
        }
        try connection.send(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
        #expect(try connection.answers() == ["200 127.0.0.1"])
    }
}
