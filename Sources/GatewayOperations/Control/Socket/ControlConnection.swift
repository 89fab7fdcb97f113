internal import NIOCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A connection of the control socket. It reads one request within a deadline, has it carried out, and closes if the
/// peer does not read. Belongs to its event loop.
final class ControlConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The event that tells a connection that the gateway stops.
    struct Stop: Sendable {}

    private enum State {
        case reading(LineReader, deadline: Scheduled<Void>)
        /// The task of a stream, which ends only by cancellation; nil for any other operation.
        case answering(Task<Void, Never>?)
        case ended
    }

    private let operatorID: UInt32
    private let rejection: ControlError?
    private let operations: ControlOperations
    private let slots: ControlSlots
    private let settings: ControlSettings
    private var state = State.ended

    /// Creates the handler of a connection that has a slot.
    ///
    /// - Parameter rejection: The reason why requests of this peer are rejected; nil if they are not. The connection
    ///   sends it after it has read the request, because a peer that writes to a closed socket may be unable to read
    ///   the response.
    init(
        operatorID: UInt32, rejection: ControlError? = nil, operations: ControlOperations, slots: ControlSlots,
        settings: ControlSettings
    ) {
        self.operatorID = operatorID
        self.rejection = rejection
        self.operations = operations
        self.slots = slots
        self.settings = settings
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        let deadline = context.eventLoop.scheduleTask(in: settings.request) {
            handler.value.close(with: .malformed("No request arrived in time."), on: channel)
        }
        state = .reading(LineReader(maximumLength: ControlProtocol.maximumRequestLength), deadline: deadline)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Bytes after the request are discarded.
        guard case .reading(var reader, let deadline) = state else { return }
        reader.append(unwrapInboundIn(data).readableBytesView)
        switch reader.next() {
        case nil:
            state = .reading(reader, deadline: deadline)
        case .tooLong:
            close(
                with: .malformed("The request is longer than \(ControlProtocol.maximumRequestLength) bytes."),
                on: context.channel)
        case .complete(let line):
            do throws(ControlError) {
                if let rejection { throw rejection }
                let request = try ControlRequest(line: line)
                deadline.cancel()
                begin(request, on: context.channel)
            } catch {
                close(with: error, on: context.channel)
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case let event as ChannelEvent where event == .inputClosed:
            // A peer may close its side after its request. Without a complete request, it closes too early.
            if case .reading = state { close(with: .malformed("The request is incomplete."), on: context.channel) }
        case is Stop:
            switch state {
            case .reading: close(with: .unavailable("The gateway is stopping."), on: context.channel)
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

    // Only the socket reports errors here, and they are permanent.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func begin(_ request: ControlRequest, on channel: any Channel) {
        slots.hold(channel)
        let (operations, slots, operatorID) = (operations, slots, operatorID)
        // The task runs off the event loop, which serves clients.
        let task = Task {
            let end = await operations.carryOut(request, by: operatorID) { line throws(ControlError) in
                do {
                    try await channel.writeAndFlush(ByteBuffer(bytes: line)).get()
                } catch {
                    throw .unavailable("The peer has disconnected.")
                }
            }
            channel.finish(end)
            slots.release(channel)
        }
        state = .answering(operations.isStream(request) ? task : nil)
    }

    private func close(with fault: ControlError, on channel: any Channel) {
        if case .reading(_, let deadline) = state { deadline.cancel() }
        state = .ended
        channel.finish(.failed(fault))
    }
}

extension Channel {
    /// Sends the final line of a response and closes the connection. The peer can still read what was sent.
    func finish(_ end: ControlResponse) {
        writeAndFlush(ByteBuffer(bytes: end.line)).whenComplete { _ in self.close(promise: nil) }
    }
}

/// The credentials of the process at the other end of a Unix socket when it connected, as the kernel reports them
/// (unix(7), `SO_PEERCRED`).
struct PeerCredentials: Sendable {
    // The layout of `struct ucred`, which the headers declare for GNU sources only: three 32-bit numbers.
    private let processID: Int32
    /// The uid.
    let uid: UInt32
    private let groupID: UInt32

    /// Queries the credentials of a connection's peer. Fails if the channel is not a socket.
    static func of(_ channel: any Channel) -> EventLoopFuture<PeerCredentials> {
        guard let options = channel as? any SocketOptionProvider else {
            return channel.eventLoop.makeFailedFuture(ChannelError.operationUnsupported)
        }
        return options.unsafeGetSocketOption(level: .socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
    }

    /// Whether this user may send commands: root and the gateway's own user.
    var isOperator: Bool { uid == 0 || uid == geteuid() }
}
