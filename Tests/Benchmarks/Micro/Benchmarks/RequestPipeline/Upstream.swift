import GatewayTesting
import NIOCore

@testable import Gateway
@testable import GatewayCore
@testable import GatewayHTTP
@testable import GatewaySupport

/// The backend request of a call, and its response.
private struct Exchange {
    let codec = NotifyUsersCodec(
        backend: BackendProfile(.classic).backend, host: "backend.example", credential: .mirror)
    let call = CallID(process: 0x1234_5678_9ABC_DEF0, number: 42)
    let response = ByteBuffer(
        string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nServer: Kestrel\r\nDate: Sat, 21 Nov 2026 07:00:00 GMT\r\n\r\n"
    )

    func encode(_ step: UpstreamStep) -> Bool {
        let request = codec.request(
            for: step, caller: Sample.user, reserved: nil,
            RequestOrigin(call: call, trace: TraceContext(of: call), span: TraceContext.nextSpan()))
        return (request?.readableBytes ?? 0) > 200
    }

    func read() -> Bool {
        var framer = ResponseFramer(bodyLimit: 64 * 1024)
        guard case .response(let response, let isReusable) = framer.receive(self.response) else { return false }
        return response.status == 200 && isReusable
    }
}

func measureUpstream() {
    let send = UpstreamStep.send(
        UpstreamSend(
            sender: Sample.user, recipient: Sample.user, service: .apns, content: Array(Sample.message.utf8)))
    measure("encode-a-send-for-backend") {
        Exchange()
    } _: {
        $0.encode(send)
    }
    measure("encode-a-registration-for-backend") {
        let handle = try HandleRules().handle(Sample.deviceHandle, of: .apns)
        let registration = UpstreamRegistration(owner: Sample.user, handle: handle, tags: [])
        return (Exchange(), UpstreamStep.upsert(.known(ScriptedBackend.givenID), registration))
    } _: { (exchange, step) in
        exchange.encode(step)
    }
    measure("read-a-backend-response") {
        Exchange()
    } _: {
        $0.read()
    }
}
