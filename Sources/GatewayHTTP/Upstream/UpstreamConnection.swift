internal import Gateway
internal import NIOCore

/// One connection to the backend. It writes a request, reads the response, and returns to its pool.
///
/// Loop-bound, like its pool.
final class UpstreamConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time when the last response was completed, or when the connection was made.
    private(set) var lastUsed: NIODeadline
    /// Whether the connection has completed at least one exchange.
    private(set) var hasCompletedExchange = false
    /// Whether the pool has removed the connection.
    var isRetired = false

    /// The write-buffer watermark with which `isWritable` is true only while no byte waits to be written, because each
    /// request is longer than one byte. Reading `isWritable` is cheaper than reading the number of buffered bytes.
    static let watermark = ChannelOptions.Types.WriteBufferWaterMark(low: 1, high: 1)

    /// The backend address that the connection was made to.
    let destination: UpstreamDestination
    /// The time when the connection was made.
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
        self.framer = ResponseFramer(bodyLimit: pool.configuration.bodyLimit)
        self.timer = DeadlineTimer(on: pool.eventLoop)
    }

    /// Whether the connection is open and idle, so that a request may be written.
    var isUsable: Bool { context?.channel.isActive == true && exchange == nil && !isRetired }

    /// Writes the request, unless its caller was revoked while it waited. Call it only while `isUsable` is true.
    ///
    /// - Returns: False if nothing was written. The connection is still idle then, and the caller releases it.
    func start(_ exchange: PendingExchange) -> Bool {
        exchange.stopTimer()
        guard let context else {
            pool.closed(self, exchange: exchange, responseHasBegun: false, reason: reason)
            return true
        }
        if exchange.finishIfWithdrawn() { return false }
        self.exchange = exchange
        framer = ResponseFramer(bodyLimit: pool.configuration.bodyLimit)
        timer.set(exchange.deadline)
        context.writeAndFlush(wrapOutboundOut(exchange.bytes), promise: nil)
        return true
    }

    /// Closes the connection. An exchange in progress fails.
    func close() {
        framer.abandon()
        context?.close(promise: nil)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        timer.setExpiryHandler { self.deadlinePassed() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { handleClose() }

    func channelInactive(context: ChannelHandlerContext) {
        if exchange != nil, completed == nil, case .response(let response, _) = framer.receiveEnd() {
            completed = (response, false)
            completeExchange()
        }
        handleClose()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard exchange != nil, completed == nil else {
            // An unsolicited byte must never become part of the next response.
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

    // The read is complete, so it is now known whether bytes follow the response.
    func channelReadComplete(context: ChannelHandlerContext) {
        completeExchange()
        context.fireChannelReadComplete()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reason = "the connection to the backend failed: \(ConnectionFailure.backendReason(of: error))"
        close()
    }

    private func completeExchange() {
        guard let completed, let exchange else { return }
        self.completed = nil
        self.exchange = nil
        timer.set(nil)
        lastUsed = pool.eventLoop.now
        hasCompletedExchange = true
        destination.circuit.succeeded()
        exchange.finish(.responded(completed.response))
        // If part of the request is still unwritten, the backend would read the rest as another request.
        if completed.isReusable, let channel = context?.channel, channel.isActive, channel.isWritable {
            pool.release(self)
        } else {
            pool.discard(self)
        }
    }

    private func deadlinePassed() {
        guard let exchange else { return }
        self.exchange = nil
        exchange.finish(.timedOut)
        pool.discard(self)
    }

    private func handleClose() {
        guard context != nil else { return }
        context = nil
        timer.stop()
        let unanswered = exchange
        exchange = nil
        pool.closed(self, exchange: unanswered, responseHasBegun: framer.hasBegun, reason: reason)
    }
}

@available(*, unavailable)
extension UpstreamConnection: Sendable {}
