internal import NIOCore

/// The first handler of an HTTP/2 connection: counts each frame before it is handled, passes on a bounded number of them a turn, and
/// closes the connection where a frame is not completed in time.
///
/// Loop-bound. While frames wait for the connection's turn, the socket is not read, and the end of the input waits behind them.
final class FrameRateLimitHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData

    /// Fired once where the client has cost too much; no byte of it is passed on after that.
    struct Exhausted {}

    private let loop: any EventLoop
    private let headTime: TimeAmount
    private let timer: DeadlineTimer
    private let scheduler: FrameScheduler
    private var meter: FrameRateLimiter
    private var isExhausted = false
    private var awaited: Int?
    private let held = PendingBytes()
    private var isPassingOn = false
    private var context: ChannelHandlerContext?
    /// Whether it is in the queue of the scheduler.
    private var isQueued = false
    /// Bytes that the scheduler counts as waiting.
    private var waitingBytes = 0
    private var holdsRead = false
    private var holdsEndOfInput = false

    init(on loop: any EventLoop, headTime: TimeAmount, scheduler: FrameScheduler) {
        self.loop = loop
        self.headTime = headTime
        self.scheduler = scheduler
        timer = DeadlineTimer(on: loop)
        meter = FrameRateLimiter(now: loop.now)
    }

    /// The memory that a frame takes which is not complete, or a head: its buffer may be twice as large.
    var heldBytes: Int { 2 * meter.pending }

    /// Whether frames wait for the connection's turn.
    var hasWaitingFrames: Bool { held.bytes.readableBytes > 0 }

    /// A call was answered.
    func served() { meter.served() }

    /// A request was none. Says whether the connection may go on.
    func charge() -> Bool { meter.charge(now: loop.now) }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let channel = context.channel
        timer.start { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    // A write that fails behind this handler has NIO read the rest of the socket before it returns: such bytes wait for their turn,
    // since the frames' own handler is in the middle of those before.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(unwrapInboundIn(data))
        if isPassingOn { return }
        passOn(frames: scheduler.framesForArrival())
    }

    func read(context: ChannelHandlerContext) {
        if isQueued { holdsRead = true } else { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if isQueued, let event = event as? ChannelEvent, event == .inputClosed {
            holdsEndOfInput = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Handles frames that have waited. Called by the scheduler.
    func takeTurn(frames: Int) {
        isQueued = false
        passOn(frames: frames)
        guard !isQueued, let context else { return }
        // A turn is to the handlers behind what a read of the socket is.
        context.fireChannelReadComplete()
        if holdsEndOfInput {
            holdsEndOfInput = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        if holdsRead {
            holdsRead = false
            context.read()
        }
    }

    private func passOn(frames allowed: Int) {
        isPassingOn = true
        var frames = allowed
        while frames > 0, held.bytes.readableBytes > 0, !isExhausted, let context {
            passOn(&frames, context)
        }
        isPassingOn = false
        scheduler.handled(frames: allowed - frames)
        if isExhausted || context == nil { held.bytes = ByteBuffer() }
        countWaiting(held.bytes.readableBytes)
        guard held.bytes.readableBytes > 0, !isQueued else { return }
        isQueued = true
        scheduler.enqueue(self)
    }

    private func passOn(_ frames: inout Int, _ context: ChannelHandlerContext) {
        guard let count = meter.process(held.bytes.readableBytesView, frames: &frames, now: loop.now) else {
            isExhausted = true
            timer.stop()
            context.fireUserInboundEventTriggered(Exhausted())
            return
        }
        // Bytes that come meanwhile do not put the deadline off; what is complete has met it.
        let waitsFor = meter.isWithinHeadOrControl ? meter.completed : nil
        if waitsFor != awaited {
            awaited = waitsFor
            timer.set(waitsFor == nil ? nil : loop.now + headTime)
        }
        context.fireChannelRead(wrapInboundOut(held.process(count)))
    }

    private func countWaiting(_ bytes: Int) {
        scheduler.addWaiting(bytes: bytes - waitingBytes)
        waitingBytes = bytes
    }

    private func end() {
        context = nil
        timer.stop()
        held.bytes = ByteBuffer()
        countWaiting(0)
    }
}

@available(*, unavailable)
extension FrameRateLimitHandler: Sendable {}
