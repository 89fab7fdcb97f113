internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// A handler that reports the result of the TLS handshake with the backend and then removes itself.
///
/// Loop-bound. No byte of a request may be written before the handshake succeeds, so that a failed handshake never
/// leaves a request half sent.
final class TLSHandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    /// Succeeds when the connection is verified and encrypted. Fails with the error of the handshake, or with
    /// `connectTimeout` at the deadline.
    var finished: EventLoopFuture<Void> { promise.futureResult }

    private let promise: EventLoopPromise<Void>
    private let loop: any EventLoop
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?

    /// Creates the handler of one connection.
    ///
    /// - Parameter timeout: The maximum duration of the handshake, from `channelActive`. Add the handler before the
    ///   channel becomes active. The channel is closed when the timeout expires.
    init(on loop: any EventLoop, timeout: TimeAmount) {
        self.loop = loop
        self.timeout = timeout
        promise = loop.makePromise()
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = loop.assumeIsolated().scheduleTask(in: timeout) { [timeout] in
            self.complete(.failure(ChannelError.connectTimeout(timeout)))
            channel.close(promise: nil)
        }
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { complete(.failure(ChannelError.eof)) }

    func channelInactive(context: ChannelHandlerContext) {
        complete(.failure(ChannelError.eof))
        context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent {
            complete(.success(()))
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
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
