internal import Gateway
internal import NIOCore

/// One connection to the backend: writes a request's bytes, reads one answer, and goes back to its pool.
///
/// Loop-bound, as its pool is.
final class UpstreamConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// When an answer was last completed.
    private(set) var lastUsed: NIODeadline
    /// Whether it has completed an exchange before the present one.
    private(set) var isReused = false
    /// Whether the pool counts it no longer.
    var isRetired = false

    /// Has the channel be writable just when nothing waits to be written: with more than one byte, which each request has, it stops
    /// being so, and only with less than one it is so again. To ask for the number of bytes instead costs more.
    static let watermark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 1)

    /// The address that it is to.
    let destination: UpstreamDestination
    /// When it was made.
    let opened: NIODeadline

    private let pool: UpstreamConnectionPool
    private let timer: DeadlineTimer
    private var context: ChannelHandlerContext?
    private var exchange: PendingExchange?
    private var framer: ResponseFramer
    private var completed: (response: BackendResponse, isReusable: Bool)?
    private var reason = "the backend closed the connection"

    init(pool: UpstreamConnectionPool, destination: UpstreamDestination) {
        self.pool = pool
        self.destination = destination
        self.opened = pool.eventLoop.now
        self.lastUsed = opened
        self.framer = ResponseFramer(bodyLimit: pool.configuration.body)
        self.timer = DeadlineTimer(on: pool.eventLoop)
    }

    /// Whether a request may be written.
    var isUsable: Bool { context?.channel.isActive == true && exchange == nil && !isRetired }

    /// Writes the request. To be called only while the connection is usable.
    func start(_ exchange: PendingExchange) {
        exchange.stopTimer()
        guard let context else { return pool.closed(self, exchange: exchange, answerHasBegun: false, reason: reason) }
        self.exchange = exchange
        framer = ResponseFramer(bodyLimit: pool.configuration.body)
        timer.set(exchange.deadline)
        context.writeAndFlush(wrapOutboundOut(exchange.bytes), promise: nil)
    }

    /// Closes the connection; what it was doing is broken.
    func close() {
        framer.abandon()
        context?.close(promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        timer.start { self.deadlinePassed() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
        if exchange != nil, completed == nil, case .response(let response, _) = framer.receiveEnd() {
            completed = (response, false)
            completeExchange()
        }
        end()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard exchange != nil, completed == nil else {
            // Nobody asked: whatever this is, it must not become the answer to the next request.
            completed?.isReusable = false
            if completed == nil { context.close(promise: nil) }
            return
        }
        switch framer.receive(unwrapInboundIn(data)) {
        case .needMore:
            break
        case .response(let response, let isReusable):
            completed = (response, isReusable)
        case .fault(let fault):
            reason = fault.detail
            context.close(promise: nil)
        }
    }

    // Only now is it sure that nothing follows the answer of what has arrived.
    func channelReadComplete(context: ChannelHandlerContext) {
        completeExchange()
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reason = "the connection to the backend broke: \(error)"
        close()
    }

    private func completeExchange() {
        guard let completed, let exchange else { return }
        self.completed = nil
        self.exchange = nil
        timer.set(nil)
        lastUsed = pool.eventLoop.now
        isReused = true
        destination.circuit.succeeded()
        exchange.finish(.answered(completed.response))
        // Where not all of the request was written before its answer came, the rest would be read as another one.
        if completed.isReusable, let channel = context?.channel, channel.isActive, channel.isWritable {
            pool.release(self)
        } else {
            pool.retire(self)
        }
    }

    private func deadlinePassed() {
        guard let exchange else { return }
        self.exchange = nil
        exchange.finish(.timedOut)
        pool.retire(self)
    }

    private func end() {
        guard context != nil else { return }
        context = nil
        timer.stop()
        let unanswered = exchange
        exchange = nil
        pool.closed(self, exchange: unanswered, answerHasBegun: framer.hasBegun, reason: reason)
    }
}

@available(*, unavailable)
extension UpstreamConnection: Sendable {}
