internal import GatewaySupport
internal import HTTPTypes
internal import Hummingbird
package import HummingbirdCore
package import Logging
package import NIOCore
internal import NIOHTTPTypesHTTP1
internal import Synchronization

/// The connections of an HTTP/1.1 server for operators. Each carries one request and one response.
///
/// Their number, the size and the arrival time of a request, and the time in which a peer reads are bounded. The server
/// that accepts connections hands each one over.
package final class OperatorConnections: Sendable {
    /// Writes the response to a complete request. Returns when it is written and its work has ended.
    package typealias Responder =
        @concurrent @Sendable (_ request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel)
        async throws
        -> Void

    private let slots: ControlSlots
    private let settings: ControlSettings
    private let logger: Logger
    private let hasStopped = Atomic(false)

    /// The limits of a request's head, the same as on the public listener. The target counts as a field.
    private static let heads = HTTP1Channel.Configuration.DecoderConfiguration(
        maxHeaderFieldSize: 8 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 100)

    /// Creates the bounds of a server.
    package init(settings: ControlSettings, logger: Logger) {
        slots = ControlSlots(settings)
        self.settings = settings
        self.logger = logger
    }

    /// Serves an accepted connection. Called on its event loop. The returned future fails if the connection must be
    /// closed without a response.
    package func serve(_ channel: any Channel, _ respond: @escaping Responder) -> EventLoopFuture<Void> {
        serve(channel, rejecting: nil, respond)
    }

    /// Serves an accepted connection, as the function without a rejection does.
    ///
    /// - Parameter problem: The reason why requests of this peer are rejected; nil if they are not.
    func serve(
        _ channel: any Channel, rejecting problem: OperatorProblem?, _ respond: @escaping Responder
    ) -> EventLoopFuture<Void> {
        var problem = problem
        if problem == nil, !slots.acquire(channel, .served) {
            problem = OperatorProblem(.overloaded, "Too many requests are in progress.")
        }
        if problem != nil, !slots.acquire(channel, .rejected) {
            return channel.eventLoop.makeFailedFuture(TooManyConnections())
        }
        let (rejection, settings) = (problem, settings)
        let http = HTTP1Channel(
            responder: { [slots] request, writer, channel in
                // Only complete requests arrive here.
                slots.complete(channel)
                try await respond(request, writer, channel)
            },
            configuration: .init(
                additionalChannelHandlers: [ControlConnection(rejection: rejection, settings: settings)],
                httpDecoderConfiguration: Self.heads))
        let setup = http.setup(channel: channel, logger: logger).flatMapThrowing { connection in
            let pipeline = channel.pipeline.syncOperations
            let codec = try pipeline.context(handlerType: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(RequestLineCheck(), position: .before(codec.handler))
            return connection
        }
        setup.whenSuccess { [slots, logger] connection in
            // Held before the connection can close, so a peer that disconnects at once cannot accumulate operations.
            slots.hold(channel)
            // The task runs off the event loop, which serves clients.
            Task {
                await http.handle(value: connection, logger: logger)
                slots.release(channel)
            }
        }
        return setup.map { _ in }
    }

    /// Rejects incomplete requests, and waits until the running operations have finished or the time limit has passed.
    /// Then closes all connections. May be called more than once; later calls return at once.
    package func stop(on eventLoop: any EventLoop) async {
        guard !hasStopped.exchange(true, ordering: .relaxed) else { return }
        for channel in slots.channels { channel.pipeline.fireUserInboundEventTriggered(ControlConnection.Stop()) }
        let ended = eventLoop.makePromise(of: Void.self)
        let deadline = eventLoop.scheduleTask(in: settings.stop) { ended.succeed() }
        slots.whenEmpty(ended)
        try? await ended.futureResult.get()
        deadline.cancel()
        for channel in slots.channels { channel.close(promise: nil) }
    }
}

/// Closes an accepted connection without a response.
private struct TooManyConnections: Error {}
