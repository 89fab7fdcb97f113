internal import NIOCore

/// The first channel handler of an HTTP/2 connection. It applies the frame rate limit, passes on a bounded number of
/// frames in each turn, and closes the connection if a frame is not completed in time.
///
/// Loop-bound. While frames wait for the next turn, the socket is not read, and the end of the input is held back too.
final class FrameRateLimitHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData

    /// The event fired once when the allowance is exhausted. No byte is passed on after it.
    struct Exhausted {}

    private let loop: any EventLoop
    private let headTime: TimeAmount
    private let timer: DeadlineTimer
    private let scheduler: FrameScheduler
    private var limiter: FrameRateLimiter
    private var isExhausted = false
    /// The number of completed frames when the timer was set; nil if no frame has a deadline.
    private var awaited: Int?
    private let held = PendingBytes()
    private var hasPassedOn = false
    private var isPassingOn = false
    private var context: ChannelHandlerContext?
    /// Whether the connection is in the queue of the scheduler.
    private var isQueued = false
    /// The number of bytes that the scheduler counts as waiting.
    private var waitingBytes = 0
    private var holdsRead = false
    private var holdsEndOfInput = false

    init(on loop: any EventLoop, headTime: TimeAmount, scheduler: FrameScheduler) {
        self.loop = loop
        self.headTime = headTime
        self.scheduler = scheduler
        timer = DeadlineTimer(on: loop)
        limiter = FrameRateLimiter(now: loop.now)
    }

    /// The memory of an incomplete frame or header block, in bytes: twice its size, because a buffer may be that large.
    /// The HTTP/2 library keeps the buffer of the largest frame. It counts if it is larger than usual.
    var heldBytes: Int { 2 * limiter.pending + (limiter.largest > Self.usualFrameBytes ? 2 * limiter.largest : 0) }

    /// The memory of the buffer that the HTTP/2 library keeps, in bytes; 0 if `heldBytes` includes it.
    var usualBufferBytes: Int { limiter.largest > Self.usualFrameBytes ? 0 : 2 * limiter.largest }

    /// The size of a frame, in bytes, up to which its buffer does not count for a connection without streams.
    private static let usualFrameBytes = 8192

    /// Whether frames wait for the connection's next turn.
    var hasWaitingFrames: Bool { held.bytes.readableBytes > 0 }

    /// Refunds a part of the allowance after a completed call.
    func served() { limiter.served() }

    /// Charges an invalid request. Returns whether the connection may continue.
    func charge() -> Bool { limiter.charge(now: loop.now) }

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

    // If a write fails in a later handler, NIO reads the rest of the socket before the write returns. Such bytes wait
    // for the next turn, because the HTTP/2 library is still processing the bytes before them.
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

    /// Passes on frames that have waited. Called by the scheduler.
    func takeTurn(frames: Int) {
        isQueued = false
        passOn(frames: frames)
        // For the later handlers, a turn is equivalent to a read from the socket.
        context?.fireChannelReadComplete()
        guard !isQueued, let context else { return }
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
        updateWaitingBytes(held.bytes.readableBytes)
        guard held.bytes.readableBytes > 0, !isQueued else { return }
        isQueued = true
        scheduler.enqueue(self)
    }

    private func passOn(_ frames: inout Int, _ context: ChannelHandlerContext) {
        guard let count = limiter.process(held.bytes.readableBytesView, frames: &frames, now: loop.now) else {
            isExhausted = true
            timer.stop()
            context.fireUserInboundEventTriggered(Exhausted())
            return
        }
        // Further bytes of the same frame do not postpone the deadline; only a completed frame does.
        let waitsFor = limiter.isWithinHeadOrControl ? limiter.completed : nil
        if waitsFor != awaited {
            awaited = waitsFor
            timer.set(waitsFor == nil ? nil : loop.now + headTime)
        }
        var passed = held.process(count)
        // The HTTP/2 library keeps the first buffer. It need not be as large as that of a read.
        if !hasPassedOn { passed = ByteBuffer(bytes: passed.readableBytesView) }
        hasPassedOn = true
        context.fireChannelRead(wrapInboundOut(passed))
    }

    private func updateWaitingBytes(_ bytes: Int) {
        scheduler.addWaiting(bytes: bytes - waitingBytes)
        waitingBytes = bytes
    }

    private func end() {
        context = nil
        timer.stop()
        held.bytes = ByteBuffer()
        updateWaitingBytes(0)
    }
}

@available(*, unavailable)
extension FrameRateLimitHandler: Sendable {}
