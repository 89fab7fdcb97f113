internal import Foundation
internal import GatewayCore
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A connection on which a check writes whatever it likes, and waits for what comes back, though not for ever.
struct ConformanceConnection {
    /// What came of waiting.
    enum Arrival {
        case frame(ByteBuffer)
        case closed
        case silence
    }

    /// Raised by a timer of the event loop, read by the check.
    private final class Flag: Sendable {
        let isRaised = Atomic(false)
    }

    private let channel: any Channel
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private let patience: TimeAmount

    /// Connects, lends the connection to the closure, and closes it.
    static func open<Answer: Sendable>(
        _ socket: String, patience: TimeAmount,
        _ body: (inout ConformanceConnection) async throws(ConformanceFault) -> Answer
    ) async throws(ConformanceFault) -> Answer {
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
            throw ConformanceFault("cannot connect to \(socket): \(String(cString: strerror(error.errnoCode)))")
        } catch {
            throw ConformanceFault(
                "cannot connect to \(socket): a path of at most 107 bytes to a Unix socket is needed")
        }
        var answer: Result<Answer, ConformanceFault> = .failure(ConformanceFault("the connection failed"))
        // Closing fails where the other side was faster, which says nothing about the check.
        try? await wrapped.executeThenClose { inbound, outbound in
            var connection = ConformanceConnection(
                channel: wrapped.channel, outbound: outbound, inbound: inbound.makeAsyncIterator(), patience: patience)
            do throws(ConformanceFault) { answer = .success(try await body(&connection)) } catch {
                answer = .failure(error)
            }
        }
        return try answer.get()
    }

    /// Writes bytes as they are. A process that has closed already is no fault here; what it says tells.
    func send(_ bytes: ByteBuffer) async { try? await outbound.write(bytes) }

    /// Writes a frame around the text.
    func send(json text: String) async { await send(Frame.around(Array(text.utf8))) }

    /// Says that nothing more will come from here.
    func closeOutput() { outbound.finish() }

    /// Waits for a frame, the end, or the end of patience, after which the connection is closed.
    mutating func receive() async throws(ConformanceFault) -> Arrival {
        let flag = Flag()
        let timer = channel.eventLoop.scheduleTask(in: patience) { [channel] in
            flag.isRaised.store(true, ordering: .relaxed)
            channel.close(promise: nil)
        }
        defer { timer.cancel() }
        do {
            if let frame = try await inbound.next(isolation: #isolation) { return .frame(frame) }
        } catch let fault as ProtocolFault {
            throw ConformanceFault("sent no frame: \(fault)")
        } catch {
            // Reset by the process: it closed with something unread, which is a way to close.
        }
        return flag.isRaised.load(ordering: .relaxed) ? .silence : .closed
    }
}
