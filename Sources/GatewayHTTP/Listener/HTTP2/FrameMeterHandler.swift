internal import NIOCore

/// The first handler of a connection of HTTP/2: has each frame counted before it is read, and those cut that are not completed in
/// time.
///
/// Loop-bound.
final class FrameMeterHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Fired once where the client has cost too much; no byte of it is passed on after that.
    struct Exhausted {}

    private let loop: any EventLoop
    private let headTime: TimeAmount
    private let timer: DeadlineTimer
    private var meter: FrameMeter
    private var isExhausted = false
    private var awaited: Int?
    private let held = HeldBytes()
    private var isPassingOn = false

    init(on loop: any EventLoop, headTime: TimeAmount) {
        self.loop = loop
        self.headTime = headTime
        timer = DeadlineTimer(on: loop)
        meter = FrameMeter(now: loop.now)
    }

    /// The memory that a frame takes which is not complete, or a head: its buffer may be twice as large.
    var heldBytes: Int { 2 * meter.pending }

    /// A call was answered.
    func served() { meter.served() }

    /// A request was none. Says whether the connection may go on.
    func charge() -> Bool { meter.charge(now: loop.now) }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timer.start { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer.stop() }

    func channelInactive(context: ChannelHandlerContext) {
        timer.stop()
        context.fireChannelInactive()
    }

    // A write that fails behind this handler has NIO read the rest of the socket before it returns: such bytes wait for their turn,
    // since the frames' own handler is in the middle of those before.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        held.append(unwrapInboundIn(data))
        if isPassingOn { return }
        isPassingOn = true
        defer { isPassingOn = false }
        while held.bytes.readableBytes > 0 {
            let next = held.bytes
            held.bytes = ByteBuffer()
            passOn(next, context)
        }
    }

    private func passOn(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        if isExhausted { return }
        guard meter.take(bytes.readableBytesView, now: loop.now) else {
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
        context.fireChannelRead(wrapInboundOut(bytes))
    }
}

@available(*, unavailable)
extension FrameMeterHandler: Sendable {}
