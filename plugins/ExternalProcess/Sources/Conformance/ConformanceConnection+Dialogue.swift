internal import GatewayCore
internal import NIOCore

extension ConformanceConnection {
    /// Exchanges hellos, as the gateway does.
    @discardableResult
    mutating func greet(
        _ hello: String = #"{"type":"hello","versions":[1],"gateway":"conformance"}"#
    )
        async throws(ConformanceFault) -> Hello
    {
        await send(json: hello)
        let frame = try await frame("the hello")
        do throws(ProtocolFault) { return try Hello(frame) } catch {
            throw ConformanceFault("answered the hello with \(Self.excerpt(frame)): \(error)")
        }
    }

    /// Waits for a frame that must come.
    mutating func frame(_ owed: String) async throws(ConformanceFault) -> ByteBuffer {
        switch try await receive() {
        case .frame(let frame): return frame
        case .closed: throw ConformanceFault("closed instead of sending \(owed)")
        case .silence: throw ConformanceFault("did not send \(owed) in time")
        }
    }

    /// Waits for the verdict on a request of this id, which must not let anybody in.
    mutating func refusal(of id: String) async throws(ConformanceFault) {
        let frame = try await frame("a verdict")
        let verdict: Verdict
        do throws(ProtocolFault) { verdict = try Verdict(frame, on: id) } catch {
            throw ConformanceFault("answered a request with \(Self.excerpt(frame)): \(error)")
        }
        if case .accepted = verdict { throw ConformanceFault("accepted a credential that nobody has") }
    }

    /// Waits until the process closes, having said nothing more.
    mutating func end() async throws(ConformanceFault) {
        switch try await receive() {
        case .closed: return
        case .silence: throw ConformanceFault("did not close the connection")
        case .frame(let frame): throw ConformanceFault("answered with \(Self.excerpt(frame)) instead of closing")
        }
    }

    private static func excerpt(_ frame: ByteBuffer) -> String {
        String(decoding: frame.readableBytesView.prefix(200), as: UTF8.self).debugDescription
    }
}
