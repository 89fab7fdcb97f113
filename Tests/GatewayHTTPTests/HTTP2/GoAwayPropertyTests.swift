import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import GatewayHTTP

/// A property of every GOAWAY frame: it never names a stream lower than one whose call has begun, nor a higher one than
/// the GOAWAY before it (RFC 9113, section 6.8), and every call that has begun gets a response unless its stream was
/// reset.
@Suite struct GoAwayPropertyTests {
    typealias Frame = FrameClient.Frame

    private final class Calls: Sendable {
        let gate = Gate()
        let begun = Mutex<Set<UInt32>>([])

        var serving: ClosureResponder {
            ClosureResponder { request in
                let path = String(buffer: request.path)
                if let stream = UInt32(path.dropFirst()) { _ = self.begun.withLock { $0.insert(stream) } }
                await self.gate.pass()
                return Response(status: 200)
            }
        }
    }

    @Test("GOAWAY never names a stream lower than one whose call has begun", arguments: 0..<200)
    func goAwayCoversCalls(_ seed: Int) throws {
        var random = SplitMix(seed: UInt64(seed))
        let calls = Calls()
        let connection = try EmbeddedHTTP2Connection(calls.serving) {
            if seed % 2 == 0 { $0.trustedProxies = .init(proxies: ["127.0.0.1"].compactMap(AddressRange.init)) }
        }
        connection.answersPings = seed % 3 != 0
        try connection.begin()
        var (stream, open, reset): (UInt32, [UInt32], Set<UInt32>) = (1, [], [])
        var (answered, last): (Set<UInt32>, UInt32) = ([], .max)

        func check() throws {
            for event in try connection.written() {
                let words = event.split(separator: " ")
                if event.hasPrefix("200 on "), let stream = UInt32(words[2]) { answered.insert(stream) }
                if event.hasPrefix("reset"), let stream = UInt32(words[1]) { reset.insert(stream) }
                guard event.hasPrefix("goaway"), let named = UInt32(words[2]) else { continue }
                #expect(named <= last)
                last = named
            }
            let highest = calls.begun.withLock { $0.max() ?? 0 }
            #expect(highest <= last, "stream \(highest) has begun after GOAWAY \(last)")
        }

        for _ in 0..<300 where connection.isOpen {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<40:
                try connection.send(.headers(stream, HTTP2Fixture.get("/\(stream)")))
                open.append(stream)
                stream += 2
            case 40..<55:
                try connection.send(.headers(stream, HTTP2Fixture.post("/\(stream)"), end: false))
                open.append(stream)
                stream += 2
            case 55..<65: if let stream = open.randomElement(using: &random) { try connection.send(.data(stream, "x")) }
            case 65..<75:
                if let stream = open.randomElement(using: &random) {
                    reset.insert(stream)
                    try connection.send(.reset(stream))
                }
            case 75..<85: if calls.gate.count > 0 { calls.gate.open() }
            case 85..<90: try connection.send(.ping, .ping, .settings, .windowUpdate(0, 1))
            case 90..<94: connection.loop.advanceTime(by: .milliseconds(.random(in: 0..<900, using: &random)))
            case 94: connection.shared.announceShutdown()
            case 95: _ = connection.shared.drain(until: .distantFuture)
            case 96: try connection.send(bytes: [0, 0, 8, 6, 0, 0, 0, 0, UInt8.random(in: 0...1, using: &random)])
            case 97: connection.loop.advanceTime(by: .seconds(.random(in: 0..<40, using: &random)))
            default: try connection.send(.headers(stream, [(":method", "GET")]))
            }
            try check()
        }
        while calls.gate.count > 0 {
            calls.gate.open()
            try check()
        }
        let lost = calls.begun.withLock { $0.subtracting(answered).subtracting(reset) }
        #expect(lost.isEmpty)
    }
}
