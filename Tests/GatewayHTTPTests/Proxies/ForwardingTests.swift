import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// Tests of forwarding fields: only a trusted proxy can report a client.
@Suite struct ForwardingTests {
    private static let proxies = ["10.0.0.0/8", "2001:db8:aaaa::/48"].compactMap(AddressRange.init)

    private func origin(
        _ source: TrustedProxies.Source, _ fields: String, from proxy: String = "10.0.0.1"
    ) throws -> String {
        try origin(source, Array(fields.utf8), from: proxy)
    }

    private func origin(
        _ source: TrustedProxies.Source, _ fields: [UInt8], from proxy: String = "10.0.0.1"
    ) throws -> String {
        var framer = RequestFramer(limits: .init(), trustedProxy: source)
        framer.feed(ByteBuffer(bytes: Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8) + fields + Array("\r\n".utf8)))
        guard case .request(let request) = framer.next() else { return "no request" }
        let peer = try #require(Peer(ipAddress: proxy))
        let trust = TrustedProxies(proxies: Self.proxies, source: source)
        guard let origin = request.origin(behind: peer, trust) else { return "itself" }
        return origin.peer.text + (origin.isEncrypted ? " https" : "")
    }

    @Test(
        "X-Forwarded-For reports the client",
        arguments: [
            ("", "10.0.0.1"),
            ("X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1"),
            ("x-forwarded-FOR: 192.0.2.1:4711\r\n", "192.0.2.1"),
            ("X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1"),
            ("X-Forwarded-For: [2001:db8::1]:80\r\n", "2001:db8::1"),
            ("X-Forwarded-For: ::ffff:192.0.2.1\r\n", "192.0.2.1"),
            // Values that the client sent are further to the left.
            ("X-Forwarded-For: 198.51.100.9, 192.0.2.1\r\n", "192.0.2.1"),
            ("X-Forwarded-For: 198.51.100.9\r\nX-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1"),
            // Trusted proxies in the list are skipped.
            ("X-Forwarded-For: 198.51.100.9, 192.0.2.1, 10.0.0.2,10.9.9.9\r\n", "192.0.2.1"),
            ("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 2001:db8:aaaa::1, 10.0.0.2\r\n", "192.0.2.1"),
            ("X-Forwarded-For: 10.0.0.3, 10.0.0.2\r\n", "10.0.0.3"),
            ("X-Forwarded-For: 192.0.2.1, , \r\n", "192.0.2.1"),
            // A value that is not an address ends the search.
            ("X-Forwarded-For: 192.0.2.1, unknown\r\n", "10.0.0.1"),
            ("X-Forwarded-For: 192.0.2.1, _hidden, 10.0.0.2\r\n", "10.0.0.2"),
            ("X-Forwarded-For: 192.0.2.1:x\r\n", "10.0.0.1"),
            ("X-Forwarded-For: [192.0.2.1\r\n", "10.0.0.1"),
            ("X-Forwarded-For: 192.0.2.1\u{E9}\r\n", "10.0.0.1"),
            // The other field is ignored, as are similar names.
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
    func xForwardedForReportsTheClient(_ fields: String, _ expected: String) throws {
        #expect(try origin(.xForwardedFor, fields) == expected)
    }

    @Test(
        "Forwarded reports the client",
        arguments: [
            ("", "10.0.0.1"),
            ("Forwarded: for=192.0.2.1\r\n", "192.0.2.1"),
            ("Forwarded: For=192.0.2.1;Proto=https;by=10.0.0.1\r\n", "192.0.2.1 https"),
            ("Forwarded: proto=https; for=\"[2001:db8::1]:4711\"\r\n", "2001:db8::1 https"),
            ("Forwarded: for=198.51.100.9;proto=https, for=192.0.2.1\r\n", "192.0.2.1"),
            ("Forwarded: for=198.51.100.9\r\nForwarded: for=192.0.2.1;proto=https\r\n", "192.0.2.1 https"),
            ("Forwarded: for=192.0.2.1;proto=https, for=10.0.0.2;proto=http\r\n", "192.0.2.1 https"),
            // An unbalanced quote of a client does not affect what a proxy appends.
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
    func forwardedReportsTheClient(_ fields: String, _ expected: String) throws {
        #expect(try origin(.forwarded, fields) == expected)
    }

    /// Bytes of a client that a `Character` combines with the separator behind them, or that are no text at all.
    private static let bytesBeyondASCII: [[UInt8]] = [
        Array("\u{600}".utf8), Array("\u{301}".utf8), Array("\u{200D}".utf8), Array("e\u{301}\u{600}".utf8),
        Array(String(repeating: "\u{1F1E6}", count: 900).utf8), [0xFF], [0xD8], [0xF0, 0x9F], [0xC0, 0xAC],
    ]

    @Test("Bytes of a client beyond ASCII do not change what a proxy appends", arguments: bytesBeyondASCII)
    func bytesBeyondASCIIDoNotReachTheProxysElement(_ bytes: [UInt8]) throws {
        func value(_ name: String, _ start: String, _ rest: String) -> [UInt8] {
            Array("\(name): \(start)".utf8) + bytes + Array("\(rest)\r\n".utf8)
        }
        for start in ["", "198.51.100.9", "198.51.100.9,", "\"198.51.100.9"] {
            for separator in [",", ", ", "\t,"] {
                let fields = value("X-Forwarded-For", start, "\(separator)192.0.2.1")
                #expect(try origin(.xForwardedFor, fields) == "192.0.2.1")
            }
        }
        for start in ["", "for=198.51.100.9;x=", "for=198.51.100.9;proto=https;x=\""] {
            for last in ["for=192.0.2.1;proto=https", "for=\"192.0.2.1:80\";proto=\"https\""] {
                #expect(try origin(.forwarded, value("Forwarded", start, ", \(last)")) == "192.0.2.1 https")
            }
        }
        let scheme = value("X-Forwarded-Proto", "https", ", http")
        #expect(try origin(.xForwardedFor, scheme) == "10.0.0.1")
    }

    @Test("An element with bytes beyond ASCII is no address and ends the search", arguments: bytesBeyondASCII)
    func anElementBeyondASCIIEndsTheSearch(_ bytes: [UInt8]) throws {
        for (start, rest) in [
            ("192.0.2.1, 198.51.100.9", ", 10.0.0.2"), ("192.0.2.1, ", "198.51.100.9, 10.0.0.2"),
            ("192.0.2.1, 198.51.100.9:", "80, 10.0.0.2"), ("192.0.2.1, [2001:db8::1]", ":80, 10.0.0.2"),
        ] {
            let fields = Array("X-Forwarded-For: \(start)".utf8) + bytes + Array("\(rest)\r\n".utf8)
            #expect(try origin(.xForwardedFor, fields) == "10.0.0.2")
        }
        for (start, rest) in [
            ("for=192.0.2.1, for=198.51.100.9;x=", ", for=10.0.0.2"),
            ("for=192.0.2.1, x=", ";for=198.51.100.9, for=10.0.0.2"),
            ("for=192.0.2.1, for=", "198.51.100.9, for=10.0.0.2"),
        ] {
            let fields = Array("Forwarded: \(start)".utf8) + bytes + Array("\(rest)\r\n".utf8)
            #expect(try origin(.forwarded, fields) == "10.0.0.2")
        }
        let scheme = Array("X-Forwarded-Proto: http, https".utf8) + bytes + Array("\r\n".utf8)
        #expect(try origin(.xForwardedFor, scheme) == "10.0.0.1")
    }

    @Test("The number of proxies that are followed is limited")
    func theNumberOfProxiesThatAreFollowedIsLimited() throws {
        let hops = (1...40).map { "10.0.0.\($0)" }.joined(separator: ", ")
        #expect(try origin(.xForwardedFor, "X-Forwarded-For: 192.0.2.1, \(hops)\r\n").hasPrefix("10.0.0."))
    }

    @Test("Mutated fields never trap") func mutatedFieldsNeverTrap() throws {
        var random = SplitMix(seed: 7)
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
                // Every result has a peer.
                #expect(try !origin(source, "\(name): \(String(decoding: text, as: UTF8.self))\r\n").isEmpty)
            }
        }
    }

    /// The complete path: the result depends on whether the peer is trusted and on the configured mechanism.
    @Test(
        "Only a trusted proxy reports the client",
        arguments: [
            (["127.0.0.1"], TrustedProxies.Source.xForwardedFor, "192.0.2.1 true"),
            (["127.0.0.1"], .forwarded, "198.51.100.1 false"),
            (["127.0.0.2", "10.0.0.0/8"], .xForwardedFor, "127.0.0.1 false"), ([], .xForwardedFor, "127.0.0.1 false"),
        ])
    func onlyATrustedProxyReportsTheClient(
        _ listed: [String], _ source: TrustedProxies.Source, _ expected: String
    ) throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.peer) \($0.allowsCredentials)".utf8)) }
        let connection = try EmbeddedConnection(serving, allowsCredentials: false) {
            $0.trustedProxies = TrustedProxies(proxies: listed.compactMap(AddressRange.init), source: source)
        }
        try connection.send(
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n"
                + "Forwarded: for=198.51.100.1;proto=http\r\n\r\n")
        #expect(try connection.answers() == ["200 \(expected)"])
    }

    @Test(
        "The report of a trusted proxy decides whether the client was encrypted, on this machine too",
        arguments: [
            ("", false, "false"), ("X-Forwarded-Proto: http\r\n", false, "false"),
            ("X-Forwarded-Proto: https\r\n", false, "true"), ("", true, "true"),
            ("X-Forwarded-Proto: http\r\n", true, "true"),
        ])
    func localListener(_ fields: String, _ allowsPlaintext: Bool, _ expected: String) throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.allowsCredentials)".utf8)) }
        let connection = try EmbeddedConnection(serving, allowsCredentials: true) {
            $0.trustedProxies = TrustedProxies(proxies: [AddressRange("127.0.0.1")].compactMap(\.self))
            $0.allowsPlaintextCredentials = allowsPlaintext
        }
        try connection.send("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\(fields)\r\n")
        #expect(try connection.answers() == ["200 \(expected)"])
    }

    @Test("Calls count for the client behind a proxy and never for the proxy")
    func countedAddress() throws {
        let serving = ClosureResponder {
            Response(status: 200, body: Array("\($0.peer) \($0.addressIdentifiesClient)".utf8))
        }
        for (listed, fields, expected) in [
            (["127.0.0.1"], "X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1 true"),
            (["127.0.0.1"], "", "127.0.0.1 false"),
            (["127.0.0.1", "10.0.0.0/8"], "X-Forwarded-For: 10.0.0.1\r\n", "10.0.0.1 false"),
            ([], "X-Forwarded-For: 192.0.2.1\r\n", "127.0.0.1 true"),
        ] {
            let connection = try EmbeddedConnection(serving) {
                $0.trustedProxies = TrustedProxies(proxies: listed.compactMap(AddressRange.init))
            }
            try connection.send("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
            #expect(try connection.answers() == ["200 \(expected)"])
        }
    }

    @Test("The forwarding fields of one request do not apply to the next")
    func theForwardingFieldsOfOneRequestDoNotApplyToTheNext() throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.peer) \($0.allowsCredentials)".utf8)) }
        let connection = try EmbeddedConnection(serving, allowsCredentials: false) {
            $0.trustedProxies = TrustedProxies(proxies: [AddressRange("127.0.0.1")].compactMap(\.self))
        }
        try connection.send(
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n\r\n")
        try connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try connection.answers() == ["200 192.0.2.1 true", "200 127.0.0.1 false"])
    }

    @Test("Forwarding fields in trailers are ignored") func trailersSayNothing() throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.peer)".utf8)) }
        let connection = try EmbeddedConnection(serving) {
            $0.trustedProxies = TrustedProxies(proxies: [AddressRange("127.0.0.1")].compactMap(\.self))
        }
        try connection.send(
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
        #expect(try connection.answers() == ["200 127.0.0.1"])
    }
}
