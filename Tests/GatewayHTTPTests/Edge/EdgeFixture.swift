import Foundation
import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOPosix

@testable import GatewayHTTP

/// A real listener in front of a gateway with a scripted backend. Tests send bytes to the socket and inspect the
/// requests of the backend.
struct EdgeFixture {
    static let group = MultiThreadedEventLoopGroup.singleton
    /// The `Authorization` field of the user alice.
    static let token = "Authorization: Bearer alices-token\r\n"
    /// The rest of a send request, from `Content-Length` on.
    static let message = "Content-Length: 4\r\n\r\n\"hi\""

    let gateway: TestGateway
    let listener: Listener

    /// Runs the body. No rate limit applies unless `adjust` sets one.
    static func run(
        configure: (inout ListenerConfiguration) -> Void = { _ in },
        adjust: @escaping (inout CompiledConfiguration) -> Void = { _ in }, _ body: (EdgeFixture) async throws -> Void
    ) async throws {
        let gateway = TestGateway(adjust: { rules in
            rules.limiter = Limiter([], clocks: ManualClock().clocks)
            adjust(&rules)
        })
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        configure(&configuration)
        let listener = try await Listener.start(
            configuration: configuration, serving: gateway.gateway, group: group)
        do {
            try await body(EdgeFixture(gateway: gateway, listener: listener))
        } catch {
            await listener.close()
            throw error
        }
        await listener.close()
    }

    /// The responses on one connection until it was closed.
    struct Answers {
        let text: String

        /// The final statuses, in order.
        var statuses: [Int] {
            text.components(separatedBy: "HTTP/1.1 ").dropFirst().compactMap { Int($0.prefix(3)) }.filter { $0 >= 200 }
        }

        /// The code of the last problem document.
        var problem: String? {
            text.components(separatedBy: "urn:notify-gateway:problem:").last?.components(separatedBy: "\"").first
        }

        /// Returns the value of a field in the last response that contains it.
        func field(_ name: String) -> String? {
            text.components(separatedBy: "\r\n").last { $0.lowercased().hasPrefix("\(name.lowercased()): ") }
                .map { String($0.dropFirst(name.count + 2)) }
        }
    }

    /// Sends bytes in one piece on a new connection and reads until the gateway closes it.
    func exchange(_ bytes: [UInt8], to address: SocketAddress? = nil) async throws -> Answers {
        let client = try await RawConnection.connect(to: address ?? listener.localAddress, group: Self.group)
        // A write may fail because the gateway has already responded and closed the connection.
        try? await client.channel.writeAndFlush(ByteBuffer(bytes: bytes))
        let text = await client.receiveToEnd()
        try? await client.channel.close()
        return Answers(text: text)
    }

    func exchange(_ text: String) async throws -> Answers { try await exchange(Array(text.utf8)) }

    /// Returns a complete send request from alice to bob, which closes the connection.
    static func send(_ more: String = "") -> String {
        "POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r\nHost: gateway.test\r\n\(token)Connection: close\r\n\(more)"
            + "Content-Type: application/json\r\n\(message)"
    }
}
