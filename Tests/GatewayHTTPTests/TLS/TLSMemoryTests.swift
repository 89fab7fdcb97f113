import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import NIOEmbedded
import NIOSSL
import Testing

@testable import GatewayHTTP

/// Tests of the memory that connections with TLS take.
@Suite struct TLSMemoryTests {
    typealias Frame = FrameClient.Frame

    private let memory = RequestMemory(limit: 16 << 20)

    private func connection(
        _ serving: any RequestResponder = ClosureResponder.echo, _ memory: RequestMemory? = nil
    ) throws -> EmbeddedHTTP2Connection {
        let tls = try ServerTLS(TestCertificate.one.identity())
        return try EmbeddedHTTP2Connection(serving) {
            $0.tls = tls
            $0.requestMemory = memory ?? self.memory
        }
    }

    /// How a connection ends.
    enum Ending: CaseIterable {
        case frames, idle, eviction, clientWithoutCloseNotify, reset, handshakeAtDeadline
    }

    @Test("Nothing of TLS outlives a closed connection, which does not wait for the client", arguments: Ending.allCases)
    func closed(_ ending: Ending) throws {
        let connection = try connection()
        let pipeline = connection.channel.pipeline
        weak let handler = try pipeline.syncOperations.handler(type: NIOSSLServerHandler.self)
        let client = ending == .handshakeAtDeadline ? nil : try EmbeddedTLSClient(to: connection, offering: ["h2"])
        if let client {
            try client.send(bytes: FrameClient.preface + Frame.settings.bytes)
            try client.send(bytes: Frame.headers(1, HTTP2Fixture.get("/")).bytes)
        }
        #expect(handler != nil && connection.isOpen)
        switch ending {
        case .frames: try? client?.send(bytes: (0..<250).flatMap { _ in Frame.ping.bytes })
        // The client answers neither the PING after GOAWAY nor the end of the output.
        case .idle: for _ in 0..<3 { connection.loop.advanceTime(by: .seconds(61)) }
        case .eviction:
            try pipeline.syncOperations.handler(type: HTTP2ConnectionHandler.self).evict()
        case .clientWithoutCloseNotify: pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        case .reset: pipeline.fireErrorCaught(IOError(errnoCode: 104, reason: "read"))
        case .handshakeAtDeadline: connection.loop.advanceTime(by: .seconds(10))
        }
        // The frames beyond those of one tick are handled after a pause.
        connection.loop.advanceTime(by: .milliseconds(10))
        #expect(!connection.isOpen)
        #expect(handler == nil, "The TLS library holds the connection's memory")
        try? client?.exchange()
        #expect(client?.isOpen != true, "The client did not receive close_notify")
    }

    @Test("A write that waits for the socket holds no more than its bytes")
    func waitingWrites() throws {
        let client = try EmbeddedTLSClient(to: connection())
        try client.send("GET /small HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.received().hasSuffix("/small"))
        #expect(client.records.allSatisfy { $0.storageCapacity < 2 * $0.readableBytes })
    }

    @Test("A long response is encrypted in pieces, so that the library's buffer does not grow")
    func longResponses() throws {
        let body = [UInt8](repeating: 0x78, count: 200_000)
        let client = try EmbeddedTLSClient(to: connection(ClosureResponder { _ in Response(status: 200, body: body) }))
        try client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.received().utf8.count > 200_000)
        #expect(client.records.allSatisfy { $0.storageCapacity <= 16 * 1024 })
    }

    @Test("The frames of many HTTP/2 responses are encrypted in pieces")
    func manyResponses() throws {
        let body = [UInt8](repeating: 0x78, count: 500)
        // With the default limit, a hundred streams fit in the share of a connection.
        let connection = try connection(ClosureResponder { _ in Response(status: 200, body: body) }, RequestMemory())
        let client = try EmbeddedTLSClient(to: connection, offering: ["h2"])
        // The responses wait for the window and leave together.
        try client.send(bytes: FrameClient.preface + Frame.setting(4, 0).bytes)
        for number in UInt32(0)..<100 {
            try client.send(bytes: Frame.headers(2 * number + 1, HTTP2Fixture.get("/")).bytes)
        }
        // The frames beyond those of one tick are handled after a pause.
        func takeTurns() throws {
            for _ in 0..<50 {
                connection.loop.advanceTime(by: .milliseconds(10))
                try client.exchange()
            }
        }
        try takeTurns()
        let before = client.records.count
        try client.send(bytes: Frame.setting(4, 65_535).bytes)
        try takeTurns()
        let sent = client.records[before...].map(\.readableBytes).reduce(0, +)
        #expect(sent > 50_000)
        #expect(client.records.allSatisfy { $0.storageCapacity <= 16 * 1024 })
    }

    @Test("An incomplete request holds its own bytes, not the buffer of the TLS library")
    func incompleteRequest() throws {
        let client = try EmbeddedTLSClient(to: connection())
        try client.send("GET / HT")
        #expect(memory.bytes > 0 && memory.bytes <= 64)
    }

    /// Returns the first records of a ClientHello of the given length, with `count` bytes of it.
    private static func hello(_ length: Int, _ count: Int) -> [UInt8] {
        let head: [UInt8] = [1, UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF)]
        let message = head + [UInt8](repeating: 0, count: count - head.count)
        return stride(from: 0, to: count, by: 8192).flatMap { start in
            let piece = message[start..<min(start + 8192, count)]
            return [22, 3, 1, UInt8(piece.count >> 8), UInt8(piece.count & 0xFF)] + piece
        }
    }

    @Test("An incomplete handshake counts")
    func incompleteHandshake() throws {
        let connection = try connection()
        try connection.send(bytes: Self.hello(16_000, 4000))
        #expect(memory.bytes == 0)
        try connection.send(bytes: [22, 3, 1, 0x1F, 0x40] + [UInt8](repeating: 0, count: 8000))
        #expect(memory.bytes == 2 * (4005 + 8005))
        #expect(connection.isOpen)
        connection.loop.advanceTime(by: .seconds(10))
        #expect(!connection.isOpen && memory.bytes == 0)
    }

    @Test("An incomplete handshake without free memory ends the connection")
    func handshakeWithoutMemory() throws {
        var proxies: [RequestMemory.Account] = []
        for _ in 0..<400 {
            var account = RequestMemory.Account(of: memory, part: .proxy)
            while account.set(account.bytes + 256) == .granted {}
            proxies.append(account)
        }
        let refused = memory.refused.value
        let connection = try connection()
        try connection.send(bytes: Self.hello(16_000, 15_000))
        #expect(!connection.isOpen)
        #expect(memory.refused.value == refused + 1)
        for index in proxies.indices { _ = proxies[index].set(0) }
        #expect(memory.bytes == 0)
    }

    @Test("A complete handshake does not count")
    func completeHandshake() throws {
        let client = try EmbeddedTLSClient(to: connection())
        #expect(memory.bytes == 0 && memory.refused.value == 0)
        try client.send("GET /" + String(repeating: "x", count: 6000) + " HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(try client.received().hasPrefix("HTTP/1.1 200"))
        #expect(memory.bytes == 0)
    }

    @Test("A ClientHello that is too long ends the connection with an alert", arguments: [17_000, 100_000])
    func tooLongClientHello(_ length: Int) throws {
        let connection = try connection()
        try connection.send(bytes: Self.hello(length, 8192))
        #expect(try connection.channel.readOutbound(as: ByteBuffer.self) == ClientHelloParser.illegalParameter)
        #expect(!connection.isOpen)
    }
}
