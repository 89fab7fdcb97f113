internal import Foundation
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayHTTP
package import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
package import Logging
package import NIOCore
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
    private let connections: OperatorConnections

    private init(
        channel: any Channel, file: UnixSocketFile, api: OperatorAPI, connections: OperatorConnections
    ) {
        self.channel = channel
        self.file = file
        self.api = api
        self.connections = connections
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
        let connections = OperatorConnections(settings: settings, logger: logger)
        let api = OperatorAPI(operations: operations, events: JournalEvents(journal), logger: logger)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 16)
            // A peer that has closed its sending side still receives the response.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                PeerCredentials.of(channel).flatMap { peer in
                    admit(peer, on: channel, api, connections, logger)
                }
            }
        do {
            // The bootstrap owns the descriptor from here on, even if it fails.
            let channel = try await bootstrap.withBoundSocket(file.descriptor).get()
            return ControlServer(channel: channel, file: file, api: api, connections: connections)
        } catch {
            file.remove()
            throw error
        }
    }

    /// Stops accepting connections and waits until the running operations have finished or the time limit has passed.
    /// May be called more than once; later calls return at once.
    package func stop() async {
        file.remove()
        api.stop()
        try? await channel.close()
        await connections.stop(on: channel.eventLoop)
    }

    // Called on the connection's event loop.
    private static func admit(
        _ peer: PeerCredentials, on channel: any Channel, _ api: OperatorAPI, _ connections: OperatorConnections,
        _ logger: Logger
    ) -> EventLoopFuture<Void> {
        var rejection: OperatorProblem?
        if !peer.isOperator {
            logger.warning("Control socket rejected a user", metadata: ["operator": "\(peer.uid)"])
            rejection = OperatorProblem(
                .notAnOperator,
                "Only root and the gateway's own user may send commands; you are uid \(peer.uid).")
        }
        return connections.serve(channel, rejecting: rejection) { request, writer, channel in
            try await api.respond(to: request, by: .process(uid: peer.uid), on: channel, writer)
        }
    }
}

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

/// The limits of an HTTP/1.1 server for operators. The defaults are those of the control socket.
package struct ControlSettings: Sendable {
    /// The maximum number of connections that are served.
    package var connections = 16
    /// The maximum number of further connections that receive a rejection. Others are closed without a response.
    package var rejectedConnections = 16
    /// The maximum number of connections from one address, for IPv6 from one /64; nil for no maximum of their own.
    package var connectionsPerAddress: Int?
    /// Whether the oldest connection with an incomplete request is closed for a new one when all are taken.
    package var evictsIncompleteRequests = false
    /// Whether a connection closes as soon as the peer closes its side. Otherwise the peer still receives the response.
    package var closesWithPeer = false
    /// Fields of the responses to requests that do not reach the responder.
    package var rejectionFields: HTTPFields = [:]
    /// The time limit for the complete request, from the connect.
    package var request: TimeAmount = .seconds(5)
    /// The time limit for a peer to read a part of the response, after which the connection is closed.
    package var write: TimeAmount = .seconds(30)
    /// The time for which a connection with a rejected request stays open, so that its peer can read the rejection.
    var linger: TimeAmount = .seconds(1)
    /// The time limit for running operations when the gateway stops.
    var stop: TimeAmount = .seconds(5)

    /// Creates the usual limits.
    package init() {}
}
