import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import NIOPosix
import Testing

@testable import GatewayHTTP

@Suite("Limit on calls in flight", .timeLimit(.minutes(1))) struct InFlightLimitTests {
    @Test("A call beyond the limit is rejected in order on a connection that stays open")
    func oneTooMany() async throws {
        let (arrived, mayAnswer) = (Signal(), Signal())
        let serving = ClosureResponder { request in
            arrived.raise()
            await mayAnswer.wait()
            return Response(status: 200, body: Array(request.path.readableBytesView))
        }
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        configuration.calls = InFlightLimit(maximum: 1)
        let calls = configuration.calls
        let group = MultiThreadedEventLoopGroup.singleton
        let listener = try await Listener.start(configuration: configuration, serving: serving, group: group)
        let first = try await RawConnection.connect(to: listener.localAddress, group: group)
        let second = try await RawConnection.connect(to: listener.localAddress, group: group)
        try await first.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
        await arrived.wait()
        #expect(calls.inFlight == 1)
        for _ in 0..<3 {
            try await second.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
            let refused = await second.receive(endingWith: "\r\n\r\noverloaded")
            #expect(!refused.contains("Connection:"))
        }
        // A hundred pipelined requests on one connection get their responses in order.
        try await second.send(String(repeating: "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n", count: 100))
        _ = await second.receive { $0.split(separator: "HTTP/1.1 ").count == 100 && $0.hasSuffix("overloaded") }
        #expect(calls.inFlight == 1)
        mayAnswer.raise()
        #expect(await first.receive(endingWith: "\r\n\r\n/1").hasPrefix("HTTP/1.1 200 OK\r\n"))
        try await second.send("GET /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        #expect(await second.receiveToEnd().hasSuffix("\r\n\r\n/3"))
        #expect(calls.inFlight == 0)
        await listener.close()
    }
}
