internal import Foundation
internal import GatewayConfiguration
internal import GatewayCore
public import GatewaySupport
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Sends requests of commands to a running gateway over its control socket.
public struct ControlClient: Sendable {
    let path: String
    private let maximumWait: TimeAmount

    /// Creates a client of the gateway that listens at the path.
    public init(path: String) { self.init(path: path, maximumWait: .seconds(60)) }

    /// Creates a client.
    ///
    /// - Parameter maximumWait: The time limit for each line of a response that is not a stream.
    init(path: String, maximumWait: TimeAmount) {
        self.path = path
        self.maximumWait = maximumWait
    }

    /// Sends the request and passes on each result when it arrives.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isStream: Whether results may arrive at any time. A stream has no time limit.
    ///   - onItem: Called with the results, in order.
    /// - Returns: nil if the operation succeeded, else the reason of its failure.
    /// - Throws: `ControlClientError`, and the errors of `onItem`.
    public func perform(
        _ request: ControlRequest, isStream: Bool = false, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        let line = request.line
        guard line.count <= ControlProtocol.maximumRequestLength else { throw ControlClientError.tooLong }
        let channel = try await connect()
        return try await channel.executeThenClose { inbound, outbound in
            do {
                try await outbound.write(ByteBuffer(bytes: line))
            } catch {
                throw ControlClientError.incompleteResponse
            }
            var reader = LineReader(maximumLength: ControlProtocol.maximumResponseLineLength)
            let readTimeout = ReadTimeout(channel.channel, after: isStream ? nil : maximumWait)
            defer { readTimeout.cancel() }
            do {
                for try await piece in inbound {
                    readTimeout.restart()
                    reader.append(piece.readableBytesView)
                    while let next = reader.next() {
                        guard case .complete(let line) = next, let answer = ControlResponse(line: line) else {
                            throw ControlClientError.incompleteResponse
                        }
                        switch answer {
                        case .item(let item): try onItem(item)
                        case .done: return nil
                        case .failed(let fault): return fault
                        }
                    }
                }
            } catch is IOError {
                // A reset counts as the end of a connection without the final line.
            }
            throw readTimeout.hasNotFired ? ControlClientError.incompleteResponse : ControlClientError.timedOut
        }
    }
}

extension ControlClient {
    /// Connects to the socket. Throws `ControlClientError`.
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
    final class ReadTimeout: Sendable {
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

        /// Whether the connection ended for another reason than the time limit.
        var hasNotFired: Bool { hasFired.withLock { !$0 } }

        private let hasFired = Mutex(false)

        /// Starts the time again, because bytes were received.
        func restart() {
            guard let time else { return }
            let fresh = channel.eventLoop.scheduleTask(in: time) { [self] in
                hasFired.withLock { $0 = true }
                channel.close(promise: nil)
            }
            let stale = timer.withLock { timer in
                defer { timer = fresh }
                return timer
            }
            stale?.cancel()
        }

        /// Cancels the timer.
        func cancel() { timer.withLock { $0?.cancel() } }
    }
}

/// The reason why a command received no complete response from a gateway.
public enum ControlClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No process listens at the path.
    case noGateway(path: String)
    /// This user may not connect to the socket.
    case notAllowed(path: String)
    /// The path is not a socket, or a system call failed.
    case unusable(path: String, detail: String)
    /// The gateway sent nothing within the time limit.
    case timedOut
    /// The response was incomplete or invalid. The operation may have been carried out.
    case incompleteResponse
    /// The request exceeds the maximum length; nothing was sent.
    case tooLong

    /// A sentence for the operator.
    public var description: String {
        switch self {
        case .noGateway(let path): "No gateway runs: nothing listens at \(path)."
        case .notAllowed(let path): "\(path): permission denied; use root or the gateway's own user."
        case .unusable(let path, let detail): "\(path) cannot be used: \(detail)"
        case .timedOut: "The gateway sent no response in time."
        case .incompleteResponse: "The gateway's response was incomplete; the operation may have been carried out."
        case .tooLong: "The arguments are too long. Nothing was sent."
        }
    }
}
