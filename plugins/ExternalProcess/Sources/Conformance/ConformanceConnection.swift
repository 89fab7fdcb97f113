internal import Foundation
internal import GatewayCore
internal import GatewaySupport
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
    private let maximumWait: TimeAmount

    /// Connects, runs the closure with the connection, and closes it.
    static func open<Output: Sendable>(
        _ socket: String, maximumWait: TimeAmount,
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
                channel: wrapped.channel, outbound: outbound, inbound: inbound.makeAsyncIterator(),
                maximumWait: maximumWait)
            do throws(ConformanceError) { answer = .success(try await body(&connection)) } catch {
                answer = .failure(error)
            }
        }
        return try answer.get()
    }

    /// Writes raw bytes. A write error is ignored: the check decides by the process's response.
    func send(_ bytes: ByteBuffer) async { try? await outbound.write(bytes) }

    /// Writes a frame with the text.
    func send(json text: String) async { await send(Frame.encode(Array(text.utf8))) }

    /// Shuts down the output; the process reads an end of file.
    func closeOutput() { outbound.finish() }

    /// Waits for a frame, the closure of the connection, or the timeout, which closes the connection.
    mutating func receive() async throws(ConformanceError) -> Arrival {
        let flag = Flag()
        let timer = channel.eventLoop.scheduleTask(in: maximumWait) { [channel] in
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

extension ConformanceConnection {
    /// Exchanges hellos as the gateway does.
    @discardableResult
    mutating func exchangeHellos(
        _ hello: String = #"{"type":"hello","versions":[1,2],"gateway":"conformance"}"#
    )
        async throws(ConformanceError) -> Hello
    {
        await send(json: hello)
        let frame = try await expectFrame("the hello")
        do throws(ProtocolError) { return try Hello(frame) } catch {
            throw ConformanceError("responded to the hello with \(Self.excerpt(frame)): \(error)")
        }
    }

    /// Waits for a frame; fails if none arrives. `name` describes the frame in the message.
    mutating func expectFrame(_ name: String) async throws(ConformanceError) -> ByteBuffer {
        switch try await receive() {
        case .frame(let frame): return frame
        case .closed: throw ConformanceError("closed instead of sending \(name)")
        case .silence: throw ConformanceError("did not send \(name) in time")
        }
    }

    /// Waits for the verdict on the request with this id; fails if it is malformed or accepts the credential.
    mutating func expectRejection(of id: String) async throws(ConformanceError) {
        let frame = try await expectFrame("a verdict")
        let verdict: AuthenticationReply
        do throws(ProtocolError) { verdict = try AuthenticationReply(frame, on: id) } catch {
            throw ConformanceError("responded to a request with \(Self.excerpt(frame)): \(error)")
        }
        if case .accepted = verdict { throw ConformanceError("accepted an invalid credential") }
    }

    /// Waits for the report on the query with this id; fails if it is malformed.
    mutating func expectStatus(on id: String) async throws(ConformanceError) -> AccountStatus {
        let frame = try await expectFrame("a status")
        do throws(ProtocolError) { return try AccountStatus(frame, on: id) } catch {
            throw ConformanceError("responded to a status query with \(Self.excerpt(frame)): \(error)")
        }
    }

    /// Waits for the report on a query about an account that does not exist; fails if it says anything else.
    mutating func expectAbsence(on id: String) async throws(ConformanceError) {
        guard case .ended(.wrong) = try await expectStatus(on: id) else {
            throw ConformanceError("did not report an unknown account as absent")
        }
    }

    /// Waits until the process closes; fails if it sends another frame first.
    mutating func expectClosure() async throws(ConformanceError) {
        switch try await receive() {
        case .closed: return
        case .silence: throw ConformanceError("did not close the connection")
        case .frame(let frame): throw ConformanceError("sent \(Self.excerpt(frame)) instead of closing")
        }
    }

    private static func excerpt(_ frame: ByteBuffer) -> String {
        String(decoding: frame.readableBytesView.prefix(200), as: UTF8.self).debugDescription
    }
}
