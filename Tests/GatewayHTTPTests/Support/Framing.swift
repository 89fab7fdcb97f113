import Gateway
import GatewayCore
import GatewaySupport
import NIOCore

@testable import GatewayHTTP

/// The events of a framer in a form that two runs can be compared by.
enum Framed: Equatable, CustomStringConvertible {
    case request(String)
    case continueExpected
    case fault(RejectionCode, String)

    var description: String {
        switch self {
        case .request(let text): "request \(text)"
        case .continueExpected: "continue"
        case .fault(let code, let detail): "\(code.rawValue) (\(detail))"
        }
    }

    var code: RejectionCode? {
        if case .fault(let code, _) = self { code } else { nil }
    }
}

/// Feeds the pieces in order and returns all events.
func frame(_ pieces: [ArraySlice<UInt8>], limits: ListenerConfiguration.Limits = .init()) -> [Framed] {
    var framer = RequestFramer(limits: limits)
    var framed: [Framed] = []
    for piece in pieces {
        framer.feed(ByteBuffer(bytes: piece))
        loop: while true {
            switch framer.next() {
            case .needMore: break loop
            case .continueExpected: framed.append(.continueExpected)
            case .request(let request): framed.append(.request(describe(request)))
            case .fault(let fault):
                framed.append(.fault(fault.code, fault.detail))
                // Bytes after a fault must have no effect.
                return framed
            }
        }
    }
    return framed
}

func frame(_ text: String, limits: ListenerConfiguration.Limits = .init()) -> [Framed] {
    frame([Array(text.utf8)[...]], limits: limits)
}

private func describe(_ request: FramedRequest) -> String {
    let peer = Peer(address: .local, text: "unix")
    let received = request.received(id: CallID(process: 0, number: 0), peer: peer, allowsCredentials: true)
    let head = request.head
    return [
        received.method?.rawValue ?? (head.isHead ? "HEAD" : "other"), String(buffer: received.path),
        received.query.map { String(buffer: $0) } ?? "-", describe(received.authorization),
        describe(received.contentType), describe(received.contentEncoding), head.keepsAlive ? "keep" : "close",
        String(buffer: received.body),
    ].joined(separator: "|")
}

private func describe(_ value: ReceivedRequest.FieldValue) -> String {
    switch value {
    case .absent: "absent"
    case .single(let bytes): String(buffer: bytes)
    case .repeated: "repeated"
    }
}
