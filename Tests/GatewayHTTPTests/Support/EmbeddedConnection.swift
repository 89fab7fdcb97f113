import Gateway
import GatewayCore
import GatewaySupport
import NIOCore
import NIOEmbedded

@testable import GatewayHTTP

/// A connection without a socket, with a manual clock. For synchronous tests: it stays on one thread and ends with the
/// test.
final class EmbeddedConnection {
    let loop = EmbeddedEventLoop()
    let shared: ListenerLoop
    let channel: EmbeddedChannel

    init(
        _ serving: any RequestResponder = ClosureResponder.echo, allowsCredentials: Bool = true,
        configure: (inout ListenerConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        configure(&configuration)
        let clocks = Clocks(monotonic: { .init(nanoseconds: 0) }, wall: { WallTime(seconds: 784_111_777) })
        shared = ListenerLoop(
            eventLoop: loop, serving: serving, configuration: configuration,
            allowsCredentials: allowsCredentials, clocks: clocks)
        let peer = Peer(address: .v4(0x7F00_0001), text: "127.0.0.1")
        channel = EmbeddedChannel(
            handler: HTTP1ConnectionHandler(loop: shared, peer: peer, trustedProxy: shared.trustedProxy(peer)),
            loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    deinit {
        channel.close(promise: nil)
        loop.end()
    }

    /// Whether the gateway has not closed the connection.
    var isOpen: Bool { channel.isActive }

    func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

    /// Returns all bytes written since the last call.
    func written() throws -> String {
        // A pipelined request waits for a task of the loop.
        loop.run()
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    /// Returns the statuses and bodies of all responses since the last call.
    func answers() throws -> [String] {
        try written().components(separatedBy: "HTTP/1.1 ").dropFirst().map { answer in
            let parts = answer.components(separatedBy: "\r\n\r\n")
            let closes = parts[0].contains("\r\nConnection: close") ? " close" : ""
            return "\(answer.prefix(3)) \(parts[1])\(closes)"
        }
    }
}

extension String {
    fileprivate func components(separatedBy separator: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let range = rest.firstRange(of: separator) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}

extension EmbeddedEventLoop {
    /// Runs the remaining tasks and cancels the scheduled ones, whose timers would otherwise keep the loop alive.
    func end() { try? syncShutdownGracefully() }
}

/// A request pipeline that holds calls until the test releases them. For one thread, like embedded channels.
final class Gate: @unchecked Sendable {
    // Unchecked: an embedded event loop runs everything on the thread of the test.
    private var held: [CheckedContinuation<Void, Never>] = []

    var count: Int { held.count }

    func pass() async {
        await withCheckedContinuation { held.append($0) }
    }

    /// Releases the first held call.
    func open() { held.removeFirst().resume() }
}
