import GatewayTesting
import NIOCore

@testable import Gateway
@testable import GatewayCore
@testable import GatewayHTTP
@testable import GatewaySupport

/// The framer of one connection, and the bytes of a repeated request.
private final class Framing {
    private var framer = RequestFramer(limits: ListenerConfiguration.Limits())
    private let bytes: ByteBuffer

    init(_ bytes: [UInt8]) { self.bytes = ByteBuffer(bytes: bytes) }

    func frame() -> Bool {
        framer.feed(bytes)
        guard case .request(let framed) = framer.next() else { return false }
        let request = framed.received(
            id: CallID(process: 1, number: 2), peer: .documentation, allowsCredentials: true)
        guard case .single(let field) = request.authorization else { return false }
        return request.method == .post && request.body.readableBytes == Sample.body.utf8.count
            && field.readableBytes == 327
    }
}

/// The encoding of responses.
private final class Writing {
    private var writer = ResponseWriter(clocks: .system)
    private let allocator = ByteBufferAllocator()
    private let response = Response(status: 200, fields: [.init("RateLimit", #""sends";r=59;t=1"#)])

    func write() -> Bool {
        let framing = ResponseWriter.Framing(omitsBody: false, connection: .kept)
        let bytes = writer.bytes(
            of: response, id: CallID(process: 1, number: 2), framing: framing, allocator: allocator)
        return bytes.readableBytesView.starts(with: "HTTP/1.1 200 OK\r\nDate: ".utf8)
    }
}

func measureFraming() {
    measure("frame-a-send") {
        Framing(Sample.send)
    } _: {
        $0.frame()
    }
    measure("frame-a-send-with-21-fields") {
        Framing(Sample.longSend)
    } _: {
        $0.frame()
    }
    measure("encode-a-response") {
        Writing()
    } _: {
        $0.write()
    }
}
