internal import GatewayCore
internal import NIOCore

extension ConformanceConnection {
    /// Exchanges hellos as the gateway does.
    @discardableResult
    mutating func exchangeHellos(
        _ hello: String = #"{"type":"hello","versions":[1],"gateway":"conformance"}"#
    )
        async throws(ConformanceFault) -> Hello
    {
        await send(json: hello)
        let frame = try await expectFrame("the hello")
        do throws(ProtocolFault) { return try Hello(frame) } catch {
            throw ConformanceFault("responded to the hello with \(Self.excerpt(frame)): \(error)")
        }
    }

    /// Waits for a frame; fails if none arrives. `name` describes the frame in the message.
    mutating func expectFrame(_ name: String) async throws(ConformanceFault) -> ByteBuffer {
        switch try await receive() {
        case .frame(let frame): return frame
        case .closed: throw ConformanceFault("closed instead of sending \(name)")
        case .silence: throw ConformanceFault("did not send \(name) in time")
        }
    }

    /// Waits for the verdict on the request with this id; fails if it is malformed or accepts the credential.
    mutating func expectRejection(of id: String) async throws(ConformanceFault) {
        let frame = try await expectFrame("a verdict")
        let verdict: Verdict
        do throws(ProtocolFault) { verdict = try Verdict(frame, on: id) } catch {
            throw ConformanceFault("responded to a request with \(Self.excerpt(frame)): \(error)")
        }
        if case .accepted = verdict { throw ConformanceFault("accepted an invalid credential") }
    }

    /// Waits until the process closes; fails if it sends another frame first.
    mutating func expectClosure() async throws(ConformanceFault) {
        switch try await receive() {
        case .closed: return
        case .silence: throw ConformanceFault("did not close the connection")
        case .frame(let frame): throw ConformanceFault("sent \(Self.excerpt(frame)) instead of closing")
        }
    }

    private static func excerpt(_ frame: ByteBuffer) -> String {
        String(decoding: frame.readableBytesView.prefix(200), as: UTF8.self).debugDescription
    }
}
