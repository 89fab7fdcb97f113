internal import GatewayHTTP
internal import GatewaySupport
internal import Hummingbird
internal import NIOCore
internal import NIOHTTP1
internal import NIOHTTPTypes

/// Bounds a connection of a server for operators, which carries one request and one response. It passes on only a complete
/// request that arrived in time, and closes the connection after the response or if the peer does not read.
///
/// It stands between the HTTP codec and Hummingbird's handlers, and belongs to its event loop. States:
/// - `receiving`: collects the request; `responding` when it is complete, `closing` if it is rejected.
/// - `responding`: passes on the response; `closing` after its end.
/// - `closing`: discards what arrives and what is written.
final class ControlConnection: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The event that tells a connection that the gateway stops.
    struct Stop: Sendable {}

    private enum State {
        case receiving(HTTPRequest?, body: ByteBuffer, deadline: Scheduled<Void>?)
        /// The response to HEAD has no body (RFC 9110, section 9.3.2).
        case responding(isHead: Bool)
        case closing
    }

    private let rejection: OperatorProblem?
    private let settings: ControlSettings
    private var date: DateField
    private var state = State.receiving(nil, body: ByteBuffer(), deadline: nil)

    /// Creates the handler of a connection.
    ///
    /// - Parameter rejection: The reason why requests of this peer are rejected; nil if they are not. The connection
    ///   sends it after it has read the request, because a peer that writes to a closed socket may be unable to read
    ///   the response.
    init(rejection: OperatorProblem?, settings: ControlSettings, clocks: Clocks = .system) {
        self.rejection = rejection
        self.settings = settings
        date = DateField(clocks: clocks)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { startDeadline(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        startDeadline(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .receiving(let head, var body, let deadline) = state else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            state = .receiving(head, body: body, deadline: deadline)
        case .body(let piece):
            guard body.readableBytes + piece.readableBytes <= OperatorRoute.maximumBodyLength else {
                let most = OperatorRoute.maximumBodyLength
                return reject(OperatorProblem(.payloadTooLarge, "The body is longer than \(most) bytes."), context)
            }
            body.writeImmutableBuffer(piece)
            state = .receiving(head, body: body, deadline: deadline)
        case .end:
            if let rejection { return reject(rejection, context) }
            guard let head else { return }
            deadline?.cancel()
            state = .responding(isHead: head.method == .head)
            if settings.closesWithPeer { context.read() }
            context.fireChannelRead(wrapInboundOut(.head(head)))
            if body.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(.body(body))) }
            context.fireChannelRead(wrapInboundOut(.end(nil)))
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // What arrives now is discarded. Without reading, the end of the connection would be noticed at the next write.
        if settings.closesWithPeer, case .responding = state { context.read() }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch (event, state) {
        case (is Stop, .receiving):
            reject(OperatorProblem(.draining, "The gateway is stopping."), context)
        case (let event as ChannelEvent, .receiving) where event == .inputClosed:
            // A peer may close its side after its request. Without a complete request, it closes too early.
            reject(OperatorProblem(.malformedRequest, "The request is incomplete."), context)
        case (let event as ChannelEvent, .closing) where event == .inputClosed:
            context.close(promise: nil)
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .responding(let isHead) = state else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        switch unwrapOutboundIn(data) {
        case .head(let head):
            write(.head(complete(head)), context, promise)
        case .body where isHead:
            promise?.succeed()
        case .body(let body):
            write(.body(body), context, promise)
        case .end:
            state = .closing
            let channel = context.channel
            let promise = promise ?? context.eventLoop.makePromise()
            promise.futureResult.whenComplete { _ in channel.close(promise: nil) }
            write(.end(nil), context, promise)
            context.flush()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .receiving(_, _, let deadline) = state { deadline?.cancel() }
        state = .closing
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard case .receiving = state else {
            // Bytes after the request are not read, whatever they are.
            if case .responding = state, error is HTTPParserError { return }
            return context.close(promise: nil)
        }
        switch error {
        case HTTPParserError.headerOverflow:
            reject(OperatorProblem(.headersTooLarge, "The head of the request is too large."), context)
        case is IOError:
            context.close(promise: nil)
        case let error as RequestLineCheck.AmbiguousTarget:
            let problem = OperatorProblem(
                .malformedRequest, "The request must have one Host field, and a path as its target.")
            reject(problem, context, isHead: error.isHead)
        default:
            reject(OperatorProblem(.malformedRequest, "The request is not valid HTTP/1.1."), context)
        }
    }

    private func startDeadline(_ context: ChannelHandlerContext) {
        guard case .receiving(let head, let body, nil) = state else { return }
        let loopBound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let deadline = context.eventLoop.scheduleTask(in: settings.request) {
            let (handler, context) = loopBound.value
            guard case .receiving = handler.state else { return }
            handler.reject(OperatorProblem(.requestTimeout, "No request arrived in time."), context)
        }
        state = .receiving(head, body: body, deadline: deadline)
    }

    /// Responds with a problem. Then discards what arrives until the peer closes its side or a second has passed: the
    /// kernel resets a socket that is closed with unread bytes, and the peer could lose the response.
    private func reject(_ problem: OperatorProblem, _ context: ChannelHandlerContext, isHead: Bool = false) {
        var isHead = isHead
        if case .receiving(let head, _, let deadline) = state {
            deadline?.cancel()
            // The response to HEAD has no body (RFC 9110, section 9.3.2).
            isHead = isHead || head?.method == .head
        }
        state = .closing
        var response = Response(problem)
        for field in settings.rejectionFields { response.headers[field.name] = field.value }
        var body = ByteBuffer()
        body.writeBytes(JSONWriter.bytes(of: problem.document) + [UInt8(ascii: "\n")])
        write(.head(complete(response.head)), context, nil)
        if !isHead { write(.body(body), context, nil) }
        let channel = context.channel
        let written = context.eventLoop.makePromise(of: Void.self)
        let linger = settings.linger
        // The response cannot be written before a TLS handshake is complete, which may be never.
        let end = context.eventLoop.scheduleTask(in: linger + linger) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in end.cancel() }
        written.futureResult.whenComplete { _ in
            channel.close(mode: .output, promise: nil)
            let closing = channel.eventLoop.scheduleTask(in: linger) { channel.close(promise: nil) }
            channel.closeFuture.whenComplete { _ in closing.cancel() }
        }
        write(.end(nil), context, written)
        context.flush()
    }

    private func complete(_ head: HTTPResponse) -> HTTPResponse {
        var head = head
        head.headerFields[.connection] = "close"
        head.headerFields[.date] = String(decoding: date.current(), as: UTF8.self)
        return head
    }

    /// Writes a part. Closes the connection if the peer does not read it in time.
    private func write(
        _ part: HTTPResponsePart, _ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?
    ) {
        let promise = promise ?? context.eventLoop.makePromise()
        let channel = context.channel
        let deadline = context.eventLoop.scheduleTask(in: settings.write) { channel.close(promise: nil) }
        promise.futureResult.whenComplete { _ in deadline.cancel() }
        context.write(wrapOutboundOut(part), promise: promise)
    }
}
