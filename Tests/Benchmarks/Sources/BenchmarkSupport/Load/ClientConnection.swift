package import NIOCore
import NIOPosix

/// A client's connection to the gateway, on the event loop of its owner. It makes one call at a time.
package final class ClientConnection: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    /// The callback for the status of each response, or 0 if the connection closed without one.
    package var onAnswer: (ClientConnection, Int) -> Void = { _, _ in }
    /// The owner's identifier of the call in flight.
    package var note: Int64 = 0
    private var context: ChannelHandlerContext?
    private var reader = ResponseReader()
    private var isBusy = false

    /// Whether the connection can make a call.
    package var isUsable: Bool { context?.channel.isActive == true && !isBusy }

    /// Makes a call. The connection must be usable.
    package func call(_ request: ByteBuffer) {
        guard let context else { return onAnswer(self, 0) }
        isBusy = true
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isBusy, let status = reader.receive(unwrapInboundIn(data)) else { return }
        isBusy = false
        if status == 0 { context.close(promise: nil) }
        onAnswer(self, status)
    }

    package func channelInactive(context: ChannelHandlerContext) { end() }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func end() {
        context = nil
        guard isBusy else { return }
        isBusy = false
        onAnswer(self, 0)
    }

    /// Opens a connection to a port on 127.0.0.1.
    package static func open(port: Int, on loop: any EventLoop) -> EventLoopFuture<NIOLoopBound<ClientConnection>> {
        ClientBootstrap(group: loop)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ClientConnection())
                }
            }
            .connect(host: "127.0.0.1", port: port)
            .flatMapThrowing { channel in
                NIOLoopBound(
                    try channel.pipeline.syncOperations.handler(type: ClientConnection.self), eventLoop: loop)
            }
    }

    /// Opens a number of connections one after the other.
    package static func open(
        _ count: Int, port: Int, on loop: any EventLoop
    ) async throws -> [NIOLoopBound<ClientConnection>] {
        var opened: [NIOLoopBound<ClientConnection>] = []
        for _ in 0..<count { opened.append(try await open(port: port, on: loop).get()) }
        return opened
    }

    /// Closes the connection.
    package func close() { context?.close(promise: nil) }
}

@available(*, unavailable)
extension ClientConnection: Sendable {}
