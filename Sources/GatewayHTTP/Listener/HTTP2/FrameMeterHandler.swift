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

    init(on loop: any EventLoop, headTime: TimeAmount) {
        self.loop = loop
        self.headTime = headTime
        timer = DeadlineTimer(on: loop)
        meter = FrameMeter(now: loop.now)
    }

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

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isExhausted { return }
        guard meter.take(unwrapInboundIn(data).readableBytesView, now: loop.now) else {
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
        context.fireChannelRead(data)
    }
}

@available(*, unavailable)
extension FrameMeterHandler: Sendable {}
