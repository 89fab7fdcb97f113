internal import Foundation
internal import GatewayCore
internal import GatewayHTTP
internal import Logging
internal import NIOCore
internal import NIOPosix

/// The control socket, listening: admits the gateway's own user and root, and nobody else.
final class ControlServer: Sendable {
    private let channel: any Channel
    private let file: UnixSocketFile
    private let slots: ControlSlots
    private let settings: ControlSettings

    private init(channel: any Channel, file: UnixSocketFile, slots: ControlSlots, settings: ControlSettings) {
        self.channel = channel
        self.file = file
        self.slots = slots
        self.settings = settings
    }

    /// Listens at the path from now on. A socket file that nobody listens on is replaced.
    ///
    /// - Throws: `ControlError` where others could tamper with the directory, `ListenerError` where something else has the
    ///   path, and what the system says.
    static func open(
        path: String, operations: ControlOperations, group: MultiThreadedEventLoopGroup, logger: Logger,
        settings: ControlSettings = ControlSettings()
    ) async throws -> ControlServer {
        let file = try await NIOThreadPool.singleton.runIfActive {
            try ControlSocketPath.makeDirectory(of: path)
            if let obstacle = ControlSocketPath.obstacle(inDirectoryOf: path) { throw ControlError.refused(obstacle) }
            return try UnixSocketFile.make(path: path, mode: 0o600)
        }
        let slots = ControlSlots(settings)
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 16)
            // Who closes the side that it writes to still gets its answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                PeerCredentials.of(channel).flatMapThrowing { peer in
                    try admit(peer, on: channel, operations, slots, settings, logger)
                }
            }
        do {
            // The bootstrap owns the descriptor from here on, also where it fails.
            let channel = try await bootstrap.withBoundSocket(file.descriptor).get()
            return ControlServer(channel: channel, file: file, slots: slots, settings: settings)
        } catch {
            file.remove()
            throw error
        }
    }

    /// Takes no more connections, lets operations end that have begun, and returns when none is left, or when they had long
    /// enough. May be called more than once.
    func stop() async {
        file.remove()
        try? await channel.close()
        for channel in slots.channels { channel.pipeline.fireUserInboundEventTriggered(ControlConnection.Stop()) }
        let ended = channel.eventLoop.makePromise(of: Void.self)
        let deadline = channel.eventLoop.scheduleTask(in: settings.stop) { ended.succeed() }
        slots.whenEmpty(ended)
        try? await ended.futureResult.get()
        deadline.cancel()
        for channel in slots.channels { channel.close(promise: nil) }
    }

    // On the connection's loop.
    private static func admit(
        _ peer: PeerCredentials, on channel: any Channel, _ operations: ControlOperations, _ slots: ControlSlots,
        _ settings: ControlSettings, _ logger: Logger
    ) throws {
        let turnedAway: ControlError?
        if !peer.isOperator {
            logger.warning("Control socket rejected a user", metadata: ["operator": "\(peer.uid)"])
            turnedAway = .refused("Only root and the gateway's own user may ask; you are uid \(peer.uid).")
        } else if slots.take(channel, .served) {
            turnedAway = nil
        } else {
            turnedAway = .unavailable("Too many commands are under way.")
        }
        if turnedAway != nil, !slots.take(channel, .turnedAway) { throw TooManyConnections() }
        try channel.pipeline.syncOperations.addHandler(
            ControlConnection(
                operatorID: peer.uid, turnedAway: turnedAway, operations: operations, slots: slots, settings: settings))
    }
}

/// Closes an accepted connection without a word.
private struct TooManyConnections: Error {}
