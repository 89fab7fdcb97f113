internal import NIOCore

/// The first channel handler of an HTTP/2 connection. It applies the frame rate limit, passes on a bounded number of
/// frames in each turn, and ends the connection if a frame is not completed in time. It also sends the frames that
/// the HTTP/2 library must not know of; see ``HTTP2FrameBytes``.
///
/// Loop-bound. While frames wait for the next turn, the socket is not read, and the end of the input is held back too.
final class FrameRateLimitHandler: ChannelDuplexHandler, TurnTaker {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// The event fired once when the allowance is exhausted, when too many bytes of the client wait, or when a frame is
    /// not completed in time. No byte is passed on after it.
    struct Exhausted {}

    private let loop: any EventLoop
    private let headTime: TimeAmount
    private let timer: DeadlineTimer
    private let scheduler: TurnScheduler
    private let owner: TurnOwner
    private var limiter: FrameRateLimiter
    private var isExhausted = false
    /// The number of completed frames when the timer was set; nil if no frame has a deadline.
    private var awaited: Int?
    private let held = PendingBytes()
    /// The start of a frame header, which is passed on in one piece.
    private var header = ByteBuffer()
    private var hasPassedOn = false
    private var isPassingOn = false
    private var context: ChannelHandlerContext?
    /// Whether the library's first settings were acknowledged.
    private var hasAcknowledgedSettings = false
    /// The frame that the client gets in place of the one that the library writes next. The inner nil drops it.
    private var replacement: ByteBuffer??
    /// Whether the connection is in the queue of the scheduler.
    private var isQueued = false
    /// The number of bytes that the scheduler counts as waiting.
    private var waitingBytes = 0
    private var hasDeferredRead = false
    private var hasDeferredEndOfInput = false

    /// Creates the handler of one connection.
    ///
    /// - Parameters:
    ///   - headTime: The time within which a frame or header block must be complete.
    ///   - owner: The owner of the connection's turns.
    ///   - carriesManyClients: Whether the connection carries the requests of many clients.
    init(
        on loop: any EventLoop, headTime: TimeAmount, scheduler: TurnScheduler, owner: TurnOwner,
        carriesManyClients: Bool
    ) {
        self.loop = loop
        self.headTime = headTime
        self.scheduler = scheduler
        self.owner = owner
        timer = DeadlineTimer(on: loop)
        limiter = FrameRateLimiter(now: loop.now, carriesManyClients: carriesManyClients)
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

    /// Stops passing on bytes of the client. Further bytes are discarded.
    func discardInput() {
        isExhausted = true
        timer.stop()
    }

    /// Writes a frame that the HTTP/2 library does not know of, and flushes it.
    func send(_ frame: ByteBuffer) { context?.writeAndFlush(wrapOutboundOut(.byteBuffer(frame)), promise: nil) }

    /// Sends another frame in place of the one that the HTTP/2 library is about to write, which must have no separate
    /// payload.
    ///
    /// - Parameter frame: The frame; nil sends none.
    func replaceNextFrame(with frame: ByteBuffer?) { replacement = .some(frame) }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard let replacement else { return context.write(data, promise: promise) }
        self.replacement = nil
        if let frame = replacement {
            context.write(wrapOutboundOut(.byteBuffer(frame)), promise: promise)
        } else {
            promise?.succeed()
        }
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        timer.setExpiryHandler { self.exhaust() }
    }

    func handlerRemoved(context: ChannelHandlerContext) { stop() }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    // If a write fails in a later handler, NIO reads the rest of the socket before the write returns. Such bytes wait
    // for the next turn, because the HTTP/2 library is still processing the bytes before them.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(unwrapInboundIn(data))
        if isPassingOn { return }
        let (allowed, began) = (scheduler.unitsForArrival(), loop.now)
        scheduler.spend(units: passOn(frames: allowed), time: loop.now - began)
    }

    func read(context: ChannelHandlerContext) {
        if isQueued { hasDeferredRead = true } else { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if isQueued, let event = event as? ChannelEvent, event == .inputClosed {
            hasDeferredEndOfInput = true
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Passes on frames that have waited.
    func takeTurn(units: Int) -> Int {
        isQueued = false
        let count = passOn(frames: units)
        // For the later handlers, a turn is equivalent to a read from the socket.
        context?.fireChannelReadComplete()
        guard !isQueued, let context else { return count }
        if hasDeferredEndOfInput {
            hasDeferredEndOfInput = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        if hasDeferredRead {
            hasDeferredRead = false
            context.read()
        }
        return count
    }

    // Returns the number of frames that were passed on.
    private func passOn(frames allowed: Int) -> Int {
        isPassingOn = true
        var frames = allowed
        while frames > 0, held.bytes.readableBytes > 0, !isExhausted, let context {
            passOn(&frames, context)
        }
        isPassingOn = false
        updateWaitingBytes()
        if held.bytes.readableBytes > 0, !isQueued {
            isQueued = true
            scheduler.enqueue(self, of: owner)
        }
        return allowed - frames
    }

    private func passOn(_ frames: inout Int, _ context: ChannelHandlerContext) {
        // The acknowledgement of the library's settings must follow the client's first frame.
        let allowed = hasAcknowledgedSettings ? frames : 1
        var left = allowed
        guard let count = limiter.process(held.bytes.readableBytesView, frames: &left, now: loop.now) else {
            return exhaust()
        }
        frames -= allowed - left
        // Further bytes of the same frame do not postpone the deadline; only a completed frame does.
        let waitsFor = limiter.isWithinHeadOrControl ? limiter.completed : nil
        if waitsFor != awaited {
            awaited = waitsFor
            timer.set(waitsFor == nil ? nil : loop.now + headTime)
        }
        var passed = held.process(count)
        let (place, rest) = (header.readableBytes, limiter.headerBytes)
        if place > 0 {
            header.writeImmutableBuffer(passed)
            passed = header
        }
        header = rest > 0 ? ByteBuffer(bytes: passed.readableBytesView.suffix(rest)) : ByteBuffer()
        passed.moveWriterIndex(to: passed.writerIndex - rest)
        if passed.readableBytes == 0 { return }
        // The HTTP/2 library keeps the first buffer. It need not be as large as that of a read.
        if !hasPassedOn { passed = ByteBuffer(bytes: passed.readableBytesView) }
        hasPassedOn = true
        // The library ignores a frame of an unknown type (RFC 9113, section 4.1).
        for type in limiter.invalidResets { passed.setInteger(UInt8.max, at: passed.readerIndex + place + type) }
        // The library keeps a buffer as large as what it gets at once, and TLS decrypts 16 KiB at once.
        while passed.readableBytes > 0, !isExhausted, context.channel.isActive,
            let piece = passed.readSlice(length: min(passed.readableBytes, Listener.readBytes))
        {
            context.fireChannelRead(wrapInboundOut(piece))
        }
        guard !hasAcknowledgedSettings, left == 0, !isExhausted else { return }
        hasAcknowledgedSettings = true
        self.context?.fireChannelRead(wrapInboundOut(HTTP2FrameBytes.settingsAcknowledgement))
    }

    private func updateWaitingBytes() {
        if isExhausted || context == nil { held.bytes = ByteBuffer() }
        let change = held.bytes.readableBytes - waitingBytes
        waitingBytes += change
        if scheduler.changeWaitingBytes(by: change, of: owner) { return }
        exhaust()
        updateWaitingBytes()
    }

    private func exhaust() {
        discardInput()
        context?.fireUserInboundEventTriggered(Exhausted())
    }

    private func stop() {
        context = nil
        timer.stop()
        updateWaitingBytes()
    }
}

@available(*, unavailable)
extension FrameRateLimitHandler: Sendable {}
