internal import Foundation
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayHTTP
internal import Hummingbird
internal import HummingbirdCore
package import Logging
internal import NIOCore
package import NIOPosix
internal import ServiceLifecycle
internal import Synchronization

/// The listening control socket, which serves the operator API. It admits only root and the gateway's own user.
///
/// It listens itself and has Hummingbird serve the accepted connections, because Hummingbird's server would create the
/// socket's file with the mode of the umask.
package final class ControlServer: Sendable {
    private let channel: any Channel
    private let file: UnixSocketFile
    private let api: OperatorAPI
    private let slots: ControlSlots
    private let settings: ControlSettings
    private let hasStopped = Atomic(false)

    /// The limits of a request's head, the same as on the public listener. The target counts as a field.
    private static let heads = HTTP1Channel.Configuration.DecoderConfiguration(
        maxHeaderFieldSize: 8 << 10, maxHeaderListSize: 16 << 10, maxHeaderFieldCount: 100)

    private init(
        channel: any Channel, file: UnixSocketFile, api: OperatorAPI, slots: ControlSlots, settings: ControlSettings
    ) {
        self.channel = channel
        self.file = file
        self.api = api
        self.slots = slots
        self.settings = settings
    }

    /// Starts to listen at the path. Replaces a socket file that no process listens on.
    ///
    /// - Parameters:
    ///   - path: The path of the socket.
    ///   - operations: The operations of the gateway.
    ///   - journal: The journal whose records are events.
    ///   - group: The event loops of the connections.
    ///   - logger: Logs rejected users and operations.
    ///   - settings: The limits.
    /// - Throws: `ControlError` if other users could tamper with the directory, `ListenerError` if another process uses
    ///   the path, and errors of the system.
    package static func open(
        path: String, operations: ControlOperations, journal: JournalSource, group: MultiThreadedEventLoopGroup,
        logger: Logger, settings: ControlSettings = ControlSettings()
    ) async throws -> ControlServer {
        let file = try await NIOThreadPool.singleton.runIfActive {
            try ControlSocketPath.makeDirectory(of: path)
            if let obstacle = ControlSocketPath.obstacle(inDirectoryOf: path) { throw ControlError.refused(obstacle) }
            return try UnixSocketFile.make(path: path, mode: 0o600)
        }
        let slots = ControlSlots(settings)
        let api = OperatorAPI(operations: operations, events: JournalEvents(journal), logger: logger)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 16)
            // A peer that has closed its sending side still receives the response.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                PeerCredentials.of(channel).flatMap { peer in
                    do {
                        return try admit(peer, on: channel, api, slots, settings, logger)
                    } catch {
                        return channel.eventLoop.makeFailedFuture(error)
                    }
                }
            }
        do {
            // The bootstrap owns the descriptor from here on, even if it fails.
            let channel = try await bootstrap.withBoundSocket(file.descriptor).get()
            return ControlServer(channel: channel, file: file, api: api, slots: slots, settings: settings)
        } catch {
            file.remove()
            throw error
        }
    }

    /// Stops accepting connections and waits until the running operations have finished or the time limit has passed.
    /// May be called more than once; later calls return at once.
    package func stop() async {
        guard !hasStopped.exchange(true, ordering: .relaxed) else { return }
        file.remove()
        api.stop()
        try? await channel.close()
        for channel in slots.channels { channel.pipeline.fireUserInboundEventTriggered(ControlConnection.Stop()) }
        let ended = channel.eventLoop.makePromise(of: Void.self)
        let deadline = channel.eventLoop.scheduleTask(in: settings.stop) { ended.succeed() }
        slots.whenEmpty(ended)
        try? await ended.futureResult.get()
        deadline.cancel()
        for channel in slots.channels { channel.close(promise: nil) }
    }

    // Called on the connection's event loop.
    private static func admit(
        _ peer: PeerCredentials, on channel: any Channel, _ api: OperatorAPI, _ slots: ControlSlots,
        _ settings: ControlSettings, _ logger: Logger
    ) throws -> EventLoopFuture<Void> {
        let rejection: OperatorProblem?
        if !peer.isOperator {
            logger.warning("Control socket rejected a user", metadata: ["operator": "\(peer.uid)"])
            rejection = OperatorProblem(
                .notAnOperator,
                "Only root and the gateway's own user may send commands; you are uid \(peer.uid).")
        } else if slots.acquire(channel, .served) {
            rejection = nil
        } else {
            rejection = OperatorProblem(.overloaded, "Too many commands are in progress.")
        }
        if rejection != nil, !slots.acquire(channel, .rejected) { throw TooManyConnections() }
        let http = HTTP1Channel(
            responder: { request, writer, channel in
                try await api.respond(to: request, by: peer.uid, on: channel, writer)
            },
            configuration: .init(
                additionalChannelHandlers: [ControlConnection(rejection: rejection, settings: settings)],
                httpDecoderConfiguration: heads))
        let setup = http.setup(channel: channel, logger: logger)
        setup.whenSuccess { connection in
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
}

/// Closes an accepted connection without a response.
private struct TooManyConnections: Error {}

/// The service that stops the control socket. The socket listens before the services start.
package struct ControlService: Service {
    let server: ControlServer

    /// Creates the service of a listening socket.
    package init(server: ControlServer) { self.server = server }

    package func run() async throws {
        try? await gracefulShutdown()
        await server.stop()
    }
}

/// The limits of the control socket.
package struct ControlSettings: Sendable {
    /// The maximum number of connections that are served.
    var connections = 16
    /// The maximum number of further connections that receive a rejection. Others are closed without a response.
    var rejectedConnections = 16
    /// The time limit for the complete request, from the connect.
    var request: TimeAmount = .seconds(5)
    /// The time limit for a peer to read a part of the response, after which the connection is closed.
    var write: TimeAmount = .seconds(30)
    /// The time for which a connection with a rejected request stays open, so that its peer can read the rejection.
    var linger: TimeAmount = .seconds(1)
    /// The time limit for running operations when the gateway stops.
    var stop: TimeAmount = .seconds(5)

    /// Creates the usual limits.
    package init() {}
}
