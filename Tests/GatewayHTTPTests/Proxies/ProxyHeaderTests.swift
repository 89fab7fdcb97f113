import GatewayCore
import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// Tests of both versions of the PROXY protocol header, byte by byte.
@Suite struct ProxyHeaderTests {
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

    /// Returns a header of version 2.
    static func binary(_ family: UInt8, _ rest: [UInt8], kind: UInt8 = 0x21, length: Int? = nil) -> [UInt8] {
        let length = length ?? rest.count
        return signature + [kind, family, UInt8(length >> 8), UInt8(length & 0xFF)] + rest
    }

    /// Returns a header of version 1.
    private static func line(_ text: String) -> [UInt8] { Array("\(text)\r\n".utf8) }

    static let v4: [UInt8] = [192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x34, 0x01, 0xBB]
    static let v6: [UInt8] = Array(repeating: 0x20, count: 16) + Array(repeating: 0, count: 20)
    static let ssl: [UInt8] = [0x20, 0, 5, 1, 0, 0, 0, 0]

    private func read(_ bytes: [UInt8]) -> (words: String, left: String) {
        var buffer = ByteBuffer(bytes: bytes)
        switch ProxyHeader.read(&buffer) {
        case .incomplete: return ("incomplete", "")
        case .malformed: return ("malformed", "")
        case .header(let header):
            return (
                (header.client?.text ?? "itself") + (header.isEncrypted ? " https" : ""), String(buffer: buffer)
            )
        }
    }

    private static let encrypted: [UInt8] = v4 + ssl
    private static let alpn: [UInt8] = [1, 0, 2, 104, 50]
    private static let path: [UInt8] = Array(repeating: 0, count: 216)

    static let good: [(bytes: [UInt8], client: String)] = [
        (line("PROXY TCP4 192.0.2.1 10.0.0.1 4711 443"), "192.0.2.1"),
        (line("PROXY TCP6 2001:db8::1 ::1 4711 443"), "2001:db8::1"),
        (line("PROXY TCP6 ::ffff:192.0.2.1 ::1 4711 443"), "192.0.2.1"), (line("PROXY UNKNOWN"), "itself"),
        (line("PROXY UNKNOWN 192.0.2.1 what ever"), "itself"), (binary(0x11, v4), "192.0.2.1"),
        (binary(0x21, v6), "2020:2020:2020:2020:2020:2020:2020:2020"), (binary(0x11, encrypted), "192.0.2.1 https"),
        (binary(0x11, v4 + alpn + ssl), "192.0.2.1 https"),
        (binary(0x11, v4 + [0x20, 0, 5, 0, 0, 0, 0, 0]), "192.0.2.1"),
        (binary(0x11, v4 + [4, 0, 0]), "192.0.2.1"), (binary(0x00, [], kind: 0x20), "itself"),
        (binary(0x11, encrypted, kind: 0x20), "itself"), (binary(0x00, []), "itself"), (binary(0x31, path), "unix"),
    ]

    @Test("A valid header is parsed", arguments: good)
    func isRead(_ bytes: [UInt8], _ expected: String) {
        let (words, left) = read(bytes + Array("GET".utf8))
        #expect(words == expected)
        #expect(left == "GET")
        for count in 0..<bytes.count { #expect(read(Array(bytes.prefix(count))).words == "incomplete", "\(count)") }
    }

    static let bad: [[UInt8]] = [
        line("GET / HTTP/1.1"), line("PROXY TCP4 192.0.2.1 10.0.0.1 4711"),
        line("PROXY TCP4 192.0.2.1 10.0.0.1 4711 65536"), line("PROXY TCP4 192.0.2.1 10.0.0.1 -1 1"),
        line("PROXY TCP4 2001:db8::1 ::1 1 1"), line("PROXY TCP6 192.0.2.1 10.0.0.1 1 1"),
        Array("PROXY TCP4 192.0.2.1 10.0.0.1 1 1\n".utf8), line("PROXY TCP4 a b 1 1"),
        line("PROXY TCP4 192.0.2.1\0 10.0.0.1 1 1"), line("PROXY TCP4 192.0.2.1 10.0.0.1\0.9 1 1"),
        line("PROXY TCP6 2001:db8::1\0 ::1 1 1"),
        line("PROXY  TCP4 192.0.2.1 10.0.0.1 1 1"), line("proxy TCP4"),
        line("PROXY UNKNOWN \(String(repeating: "x", count: 100))"), line("PROXY UDP4 192.0.2.1 10.0.0.1 1 1"),
        [0x0D, 0x0A, 0x0D, 0x0B], [0x16, 0x03, 0x01], binary(0x11, v4, kind: 0x22), binary(0x11, v4, kind: 0x31),
        binary(0x12, v4), binary(0x11, Array(v4.dropLast())), binary(0x21, v4), binary(0x11, v4 + [0x20, 0, 5, 1]),
        binary(0x11, v4 + [0x20]), binary(0x31, v4), binary(0x11, v4, length: 2049), binary(0x99, v4),
    ]

    @Test("A malformed header is rejected", arguments: bad)
    func isRejected(_ bytes: [UInt8]) { #expect(read(bytes).words == "malformed") }

    @Test("Random bytes never trap") func nothingTraps() {
        var random = SplitMix(seed: 3)
        for base in [Self.binary(0x11, Self.v4 + Self.ssl), Array("PROXY TCP4 192.0.2.1 10.0.0.1 4711 443\r\n".utf8)] {
            for _ in 0..<5000 {
                var bytes = base
                for _ in 0..<Int.random(in: 1...3, using: &random) {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: .min ... .max, using: &random)
                }
                #expect(!read(bytes).words.isEmpty)
            }
        }
    }
}
