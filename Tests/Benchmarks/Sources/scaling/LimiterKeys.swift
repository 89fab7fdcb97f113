import BenchmarkSupport
import NIOCore

/// The limiter's keys: recipients of recent sends, so that every key is still in use.
struct LimiterKeys: Dimension {
    let name = "limiter keys"
    let sizes = [10, 10_000, 1_000_000]

    func prepare(_ setup: inout GatewaySetup, size: Int) async throws {
        // At this rate a send occupies its key for an hour.
        setup.limits = "[{ name: inbox, per: recipient, rate: 1/h, burst: 1000000 }]"
    }

    func filling(_ setup: GatewaySetup, size: Int) throws -> (count: Int, request: @Sendable (Int) -> ByteBuffer)? {
        let token = try setup.tokens(of: ["alice"])[0]
        return (size, { CallBytes.send(to: Self.recipient($0), "Bearer \(token)") })
    }

    func calls(_ setup: GatewaySetup, size: Int) throws -> [(name: String, requests: [ByteBuffer])] {
        let token = try setup.tokens(of: ["alice"])[0]
        return [
            (
                "send, token",
                spread(10_000, over: size).map { CallBytes.send(to: Self.recipient($0), "Bearer \(token)") }
            )
        ]
    }

    private static func recipient(_ number: Int) -> String { "user-\(number)" }
}
