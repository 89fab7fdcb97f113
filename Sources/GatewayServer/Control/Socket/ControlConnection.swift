internal import NIOCore

/// One connection of the control socket: reads a request within its deadline, has it carried out, and cuts peers that do not
/// read. Belongs to its event loop.
final class ControlConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Told to a connection when the gateway stops.
    struct Stop: Sendable {}

    private enum State {
        case reading(LineReader, deadline: Scheduled<Void>)
        /// The task is that of a stream, which ends only if it is cancelled; nil for any other operation.
        case answering(Task<Void, Never>?)
        case ended
    }

    private let operatorID: UInt32
    private let turnedAway: ControlError?
    private let operations: ControlOperations
    private let slots: ControlSlots
    private let settings: ControlSettings
    private var state = State.ended

    /// A connection that has its slot.
    ///
    /// - Parameter turnedAway: Why no request of this peer is carried out. It is told once it has sent one, since who writes to a
    ///   closed socket may not get to read what was in it.
    init(
        operatorID: UInt32, turnedAway: ControlError? = nil, operations: ControlOperations, slots: ControlSlots,
        settings: ControlSettings
    ) {
        self.operatorID = operatorID
        self.turnedAway = turnedAway
        self.operations = operations
        self.slots = slots
        self.settings = settings
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        let deadline = context.eventLoop.scheduleTask(in: settings.request) {
            handler.value.end(.malformed("No request came in time."), on: channel)
        }
        state = .reading(LineReader(longest: ControlProtocol.longestRequest), deadline: deadline)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What follows a request is nobody's.
        guard case .reading(var reader, let deadline) = state else { return }
        reader.append(unwrapInboundIn(data).readableBytesView)
        switch reader.next() {
        case nil:
            state = .reading(reader, deadline: deadline)
        case .tooLong:
            end(.malformed("The request is longer than \(ControlProtocol.longestRequest) bytes."), on: context.channel)
        case .complete(let line):
            do throws(ControlError) {
                if let turnedAway { throw turnedAway }
                let request = try ControlRequest(line: line)
                deadline.cancel()
                begin(request, on: context.channel)
            } catch {
                end(error, on: context.channel)
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as ChannelEvent where event == .inputClosed:
            // A peer that has sent its request may close its side; one that has not never will.
            if case .reading = state { end(.malformed("The request has no end."), on: context.channel) }
        case is Stop:
            switch state {
            case .reading: end(.unavailable("The gateway is stopping."), on: context.channel)
            case .answering(let stream): stream?.cancel()
            case .ended: break
            }
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let promise = promise ?? context.eventLoop.makePromise()
        let channel = context.channel
        let deadline = context.eventLoop.scheduleTask(in: settings.write) { channel.close(promise: nil) }
        promise.futureResult.whenComplete { _ in deadline.cancel() }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        switch state {
        case .reading(_, let deadline): deadline.cancel()
        case .answering(let stream): stream?.cancel()
        case .ended: break
        }
        state = .ended
        context.fireChannelInactive()
    }

    // Only the socket fails here, and it fails for good.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func begin(_ request: ControlRequest, on channel: any Channel) {
        slots.hold(channel)
        let (operations, slots, operatorID) = (operations, slots, operatorID)
        // Off the loop: calls of clients live there.
        let task = Task {
            let end = await operations.carryOut(request, by: operatorID) { line throws(ControlError) in
                do {
                    try await channel.writeAndFlush(ByteBuffer(bytes: line)).get()
                } catch {
                    throw .unavailable("The peer is gone.")
                }
            }
            channel.finish(end)
            slots.release(channel)
        }
        state = .answering(operations.isStream(request) ? task : nil)
    }

    private func end(_ fault: ControlError, on channel: any Channel) {
        if case .reading(_, let deadline) = state { deadline.cancel() }
        state = .ended
        channel.finish(.failed(fault))
    }
}

extension Channel {
    /// Sends the last line of an answer and closes; what a peer has not read by then it can still read.
    func finish(_ end: ControlResponse) {
        writeAndFlush(ByteBuffer(bytes: end.line)).whenComplete { _ in self.close(promise: nil) }
    }
}
