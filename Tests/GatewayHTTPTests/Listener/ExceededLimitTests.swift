import GatewaySupport
import NIOCore
import Testing

@testable import GatewayHTTP

/// Tests of the counts and reports of exceeded limits.
@Suite struct ExceededLimitTests {
    typealias Frame = FrameClient.Frame

    @Test("The first case is reported at once and later ones after ten seconds, with their number and the last client")
    func reports() {
        func at(_ seconds: Int64) -> MonotonicInstant { MonotonicInstant(nanoseconds: seconds * 1_000_000_000) }
        let limit = ExceededLimit()
        #expect(limit.report(now: at(0)) == nil)
        limit.record("192.0.2.1")
        #expect(limit.report(now: at(1)) == .init(count: 1, peer: "192.0.2.1"))
        for number in 2...4 { limit.record("192.0.2.\(number)") }
        #expect(limit.report(now: at(10)) == nil)
        #expect(limit.report(now: at(11)) == .init(count: 3, peer: "192.0.2.4"))
        #expect(limit.report(now: at(30)) == nil)
        #expect(limit.value == 4)
    }

    @Test("A connection that the limits of frames end is counted once")
    func frames() throws {
        let connectionLimit = ConnectionLimit(.init())
        let floods: [(String, [Frame])] = [
            ("PING", (0..<300).map { _ in Frame.ping }),
            ("invalid requests", (UInt32(0)..<300).map { Frame.headers(2 * $0 + 1, [(":method", "GET")]) }),
        ]
        for (number, (name, frames)) in floods.enumerated() {
            let connection = try EmbeddedHTTP2Connection { $0.connectionLimit = connectionLimit }
            try connection.begin()
            for frame in frames where connection.isOpen { try? connection.send(frame) }
            #expect(!connection.isOpen, "\(name)")
            #expect(connectionLimit.frameLimit.value == UInt64(number + 1), "\(name)")
        }
        #expect(
            connectionLimit.frameLimit.report(now: MonotonicInstant(nanoseconds: 0))
                == .init(count: 2, peer: "127.0.0.1"))
        #expect(connectionLimit.requestMemory.refused.value == 0)
    }

    @Test("A connection that ends for lack of memory counts as such")
    func memory() throws {
        let connectionLimit = ConnectionLimit(.init())
        let memory = RequestMemory(limit: 1 << 20)
        let connection = try EmbeddedHTTP2Connection {
            $0.connectionLimit = connectionLimit
            $0.requestMemory = memory
        }
        try connection.begin()
        try connection.send(Frame(type: 0x55, payload: [UInt8](repeating: 0, count: 16_384)))
        #expect(!connection.isOpen)
        #expect(memory.refused.report(now: MonotonicInstant(nanoseconds: 0)) == .init(count: 1, peer: "127.0.0.1"))
        #expect(connectionLimit.frameLimit.value == 0)
    }
}
