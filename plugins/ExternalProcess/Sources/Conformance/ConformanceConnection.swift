internal import Foundation
internal import GatewayCore
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A connection on which a check writes arbitrary bytes and waits for frames, with a timeout.
struct ConformanceConnection {
    /// The result of waiting for a frame.
    enum Arrival {
        case frame(ByteBuffer)
        case closed
        case silence
    }

    /// A flag that an event loop's timer sets and a check reads.
    private final class Flag: Sendable {
        let isRaised = Atomic(false)
    }

    private let channel: any Channel
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let patience: TimeAmount

    /// Connects, runs the closure with the connection, and closes it.
    static func open<Output: Sendable>(
        _ socket: String, patience: TimeAmount,
        _ body: (inout ConformanceConnection) async throws(ConformanceError) -> Output
    ) async throws(ConformanceError) -> Output {
        let wrapped: NIOAsyncChannel<ByteBuffer, ByteBuffer>
        do {
            wrapped = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connect(unixDomainSocketPath: socket) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(ByteToMessageHandler(FrameDecoder()))
                        return try NIOAsyncChannel(
                            wrappingChannelSynchronously: channel,
                            configuration: .init(isOutboundHalfClosureEnabled: true))
                    }
                }
        } catch let error as IOError {
            throw ConformanceError("cannot connect to \(socket): \(String(cString: strerror(error.errnoCode)))")
        } catch {
            throw ConformanceError(
                "cannot connect to \(socket): not the path of a Unix socket, of at most 107 bytes")
        }
        var answer: Result<Output, ConformanceError> = .failure(ConformanceError("the connection failed"))
        // Closing fails if the process closed first, which does not affect the check.
        try? await wrapped.executeThenClose { inbound, outbound in
            var connection = ConformanceConnection(
                channel: wrapped.channel, outbound: outbound, inbound: inbound.makeAsyncIterator(), patience: patience)
            do throws(ConformanceError) { answer = .success(try await body(&connection)) } catch {
                answer = .failure(error)
            }
        }
        return try answer.get()
    }

    /// Writes raw bytes. A write error is ignored: the check decides by the process's response.
    func send(_ bytes: ByteBuffer) async { try? await outbound.write(bytes) }

    /// Writes a frame with the text.
    func send(json text: String) async { await send(Frame.around(Array(text.utf8))) }

    /// Shuts down the output; the process reads an end of file.
    func closeOutput() { outbound.finish() }

    /// Waits for a frame, the closure of the connection, or the timeout, which closes the connection.
    mutating func receive() async throws(ConformanceError) -> Arrival {
        let flag = Flag()
        let timer = channel.eventLoop.scheduleTask(in: patience) { [channel] in
            flag.isRaised.store(true, ordering: .relaxed)
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        do {
            if let frame = try await inbound.next(isolation: #isolation) { return .frame(frame) }
        } catch let fault as ProtocolError {
            throw ConformanceError("sent no frame: \(fault)")
        } catch {
            // A reset: the process closed with unread input, which counts as closing.
        }
        return flag.isRaised.load(ordering: .relaxed) ? .silence : .closed
    }
}
