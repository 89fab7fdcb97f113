internal import GatewayCore
internal import NIOCore

extension ConformanceConnection {
    /// Exchanges hellos as the gateway does.
    @discardableResult
    mutating func exchangeHellos(
        _ hello: String = #"{"type":"hello","versions":[1],"gateway":"conformance"}"#
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
