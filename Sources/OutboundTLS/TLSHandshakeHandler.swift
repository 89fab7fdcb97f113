package import GatewaySupport
package import NIOCore
package import NIOSSL
internal import NIOTLS

/// A handler that verifies the server's name after the TLS handshake, reports the result and then removes itself.
///
/// Loop-bound. It follows the TLS handler of a connection that the gateway opens. No byte may be written before it reports
/// success: a false server never receives one, and a failed handshake never leaves a request half sent. After a failure it
/// passes on nothing that the server sends.
package final class TLSHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    /// Succeeds when the connection is verified and encrypted. Fails with the error of the handshake, with
    /// `ServerName.Mismatch`, or with `connectTimeout` at the deadline.
    package var finished: EventLoopFuture<Void> { promise.futureResult }

    private let tls: NIOSSLClientHandler
    private let name: ServerName
    private let promise: EventLoopPromise<Void>
    private let loop: any EventLoop
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?
    private var isFalseServer = false

    private init(_ tls: NIOSSLClientHandler, _ name: ServerName, on loop: any EventLoop, timeout: TimeAmount) {
        self.tls = tls
        self.name = name
        self.loop = loop
        self.timeout = timeout
        promise = loop.makePromise()
    }

    /// Adds TLS to the end of a new channel's pipeline, with the verification of the server's name, and returns the handler
    /// that reports the result. Call it before the channel becomes active.
    ///
    /// - Parameters:
    ///   - context: A context of `TLSConfiguration.outbound`.
    ///   - timeout: The maximum duration of the handshake, from `channelActive`. The channel is closed when it expires.
    @discardableResult
    package static func add(
        to channel: any Channel, _ context: NIOSSLContext, _ name: ServerName, timeout: TimeAmount
    ) throws -> TLSHandshakeHandler {
        let tls = try NIOSSLClientHandler(context: context, serverHostname: name.indication)
        let handler = TLSHandshakeHandler(tls, name, on: channel.eventLoop, timeout: timeout)
        do {
            try channel.pipeline.syncOperations.addHandlers([tls, handler])
        } catch {
            handler.complete(.failure(error))
            throw error
        }
        return handler
    }

    package func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = loop.assumeIsolated().scheduleTask(in: timeout) { [timeout] in
            self.complete(.failure(ChannelError.connectTimeout(timeout)))
            channel.close(promise: nil)
        }
        context.fireChannelActive()
    }

    package func handlerRemoved(context: ChannelHandlerContext) { complete(.failure(ChannelError.eof)) }

    package func channelInactive(context: ChannelHandlerContext) {
        complete(.failure(ChannelError.eof))
        context.fireChannelInactive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isFalseServer { context.fireChannelRead(data) }
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            do {
                try name.verify(tls)
            } catch {
                isFalseServer = true
                complete(.failure(error))
                context.fireErrorCaught(error)
                return context.close(promise: nil)
            }
            complete(.success(()))
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        complete(.failure(error))
        context.fireErrorCaught(error)
    }

    private func complete(_ result: Result<Void, any Error>) {
        timer?.cancel()
        timer = nil
        // Only the first result counts.
        promise.completeWith(result)
    }
}

@available(*, unavailable)
extension TLSHandshakeHandler: Sendable {}
