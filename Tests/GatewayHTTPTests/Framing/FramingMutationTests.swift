import GatewayTesting
import Testing

@testable import GatewayHTTP

/// Tests with random mutations: nothing traps, and the result never depends on how the bytes are split.
@Suite struct FramingMutationTests {
    private static let seeds: [[UInt8]] = [
        "GET /api/register?handle=abc HTTP/1.1\r\nHost: localhost:8080\r\nAuthorization: Basic YWxpY2U6YWxpY2U=\r\n\r\n",
        "POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            + "Content-Length: 7\r\nExpect: 100-continue\r\n\r\n\"hello\"",
        "PUT http://a/api/register/1-2-3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
            + "3;x=y\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nTrailer: t\r\n\r\n",
        "DELETE / HTTP/1.0\r\nHost: [::1]:1\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ].map { Array($0.utf8) }
    private static let interesting: [UInt8] = Array("\r\n \t:;,0123456789afxCTHh/?#*\0\u{7F}\"-_".utf8) + [0x80, 0xFF]

    @Test("Random mutations give the same result however they are split")
    func randomMutationsGiveTheSameResultHoweverTheyAreSplit() {
        var generator = SplitMix(seed: 20_261_121)
        var requests = 0
        var faults = 0
        for round in 0..<20_000 {
            var bytes = Self.seeds[round % Self.seeds.count]
            for _ in 0..<Int.random(in: 1...4, using: &generator) { Self.mutate(&bytes, using: &generator) }
            let whole = frame([bytes[...]])
            requests += whole.count { $0.code == nil }
            faults += whole.count { $0.code != nil }
            var pieces: [ArraySlice<UInt8>] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let length = Int.random(in: 1...max(1, rest.count / 2), using: &generator)
                pieces.append(rest.prefix(length))
                rest = rest.dropFirst(length)
            }
            let split = frame(pieces)
            if split != whole {
                Issue.record("round \(round): \(split) is not \(whole)")
                return
            }
        }
        // Both results must be frequent, or the mutations would prove nothing.
        #expect(requests > 1000)
        #expect(faults > 1000)
    }

    private static func mutate(_ bytes: inout [UInt8], using generator: inout SplitMix) {
        guard let index = bytes.indices.randomElement(using: &generator) else { return }
        let byte = interesting.randomElement(using: &generator) ?? 0
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: bytes[index] = byte
        case 1: bytes.insert(byte, at: index)
        case 2: bytes.remove(at: index)
        case 3: bytes[index] = UInt8.random(in: .min ... .max, using: &generator)
        default:
            let length = Int.random(in: 0...min(12, bytes.count - index), using: &generator)
            let place = bytes.indices.randomElement(using: &generator) ?? 0
            bytes.insert(contentsOf: Array(bytes[index..<index + length]), at: place)
        }
    }
}
