internal import Foundation
internal import GatewayConfiguration
internal import NIOCore
internal import NIOPosix
internal import Synchronization

extension ControlClient {
    func connect() async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        do {
            return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(5))
                .connect(unixDomainSocketPath: path) { channel in
                    channel.eventLoop.makeCompletedFuture { try NIOAsyncChannel(wrappingChannelSynchronously: channel) }
                }
        } catch let error as IOError {
            switch error.errnoCode {
            case ENOENT, ECONNREFUSED, ENOTDIR: throw ControlClientError.noGateway(path: path)
            case EACCES, EPERM: throw ControlClientError.notAllowed(path: path)
            default: throw ControlClientError.unusable(path: path, detail: OperatorMessage.of(error))
            }
        } catch {
            throw ControlClientError.unusable(path: path, detail: OperatorMessage.of(error))
        }
    }

    /// Closes a connection that has received nothing for the given time.
    final class Silence: Sendable {
        private let channel: any Channel
        private let time: TimeAmount?
        private let timer = Mutex<Scheduled<Void>?>(nil)

        /// Starts the timer.
        ///
        /// - Parameter time: The time limit; nil for none.
        init(_ channel: any Channel, after time: TimeAmount?) {
            self.channel = channel
            self.time = time
            restart()
        }

        /// Whether the connection ended for another reason than silence.
        var endedOtherwise: Bool { hasEnded.withLock { !$0 } }

        private let hasEnded = Mutex(false)

        func restart() {
            guard let time else { return }
            let fresh = channel.eventLoop.scheduleTask(in: time) { [self] in
                hasEnded.withLock { $0 = true }
                channel.close(promise: nil)
            }
            let stale = timer.withLock { timer in
                defer { timer = fresh }
                return timer
            }
            stale?.cancel()
        }

        func end() { timer.withLock { $0?.cancel() } }
    }
}
