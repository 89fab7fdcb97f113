import NIOCore
import NIOEmbedded
import NIOSSL

@testable import GatewayHTTP

/// A TLS client of an embedded connection, without sockets. For one thread, on the loop of the connection.
final class EmbeddedTLSClient {
    /// The buffers that the gateway has written to the socket.
    private(set) var records: [ByteBuffer] = []
    private let server: EmbeddedHTTP2Connection
    private let channel: EmbeddedChannel

    /// Connects and performs the handshake.
    init(to server: EmbeddedHTTP2Connection, offering protocols: [String] = ["http/1.1"]) throws {
        self.server = server
        let tls = try NIOSSLClientHandler(
            context: TLSOffer(protocols: protocols).context(), serverHostname: "localhost")
        channel = EmbeddedChannel(handler: tls, loop: server.loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try exchange()
    }

    deinit {
        // Closes what is below TLS, which would wait for the gateway.
        try? channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self).close(promise: nil)
        server.loop.run()
    }

    /// Whether the client has not received `close_notify`. It closes its side then.
    var isOpen: Bool { channel.isActive }

    func send(_ text: String) throws { try send(bytes: Array(text.utf8)) }

    func send(bytes: [UInt8]) throws {
        try channel.writeOutbound(ByteBuffer(bytes: bytes))
        try exchange()
    }

    /// Returns the decrypted bytes since the last call.
    func received() throws -> String {
        var text = ""
        while let bytes = try channel.readInbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    /// Delivers the written bytes in both directions until there are none.
    func exchange() throws {
        var isDone = false
        while !isDone {
            isDone = true
            server.loop.run()
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
                isDone = false
                if server.isOpen { try server.channel.writeInbound(bytes) }
            }
            server.loop.run()
            while let bytes = try server.channel.readOutbound(as: ByteBuffer.self) {
                isDone = false
                records.append(bytes)
                if channel.isActive { try channel.writeInbound(bytes) }
            }
        }
    }
}
