internal import NIOCore

@testable internal import GatewayHTTP

/// The events of the request framer depend on the bytes alone, not on how the network cuts them; after a fault nothing but that fault
/// follows; every place in a head lies within the head.
///
/// The first byte of the input selects the length of the pieces that the remaining bytes are cut into.
enum RequestFramerTarget: FuzzTarget {
    static func run(_ input: [UInt8]) {
        guard let first = input.first else { return }
        let bytes = input[1...]
        for source in [nil, TrustedProxies.Source.xForwardedFor, .forwarded] {
            let whole = events(of: [bytes], source)
            let cut = events(of: pieces(of: bytes, length: Int(first) + 1), source)
            guard whole == cut else { propertyFails("whole: \(whole); cut: \(cut)") }
        }
    }

    /// One event in a form that two runs can compare.
    enum Seen: Equatable {
        case request(method: String, path: [UInt8], query: [UInt8]?, body: [UInt8], keepsAlive: Bool)
        case fault(String)
    }

    static func pieces(of bytes: ArraySlice<UInt8>, length: Int) -> [ArraySlice<UInt8>] {
        stride(from: bytes.startIndex, to: bytes.endIndex, by: length).map {
            bytes[$0..<min($0 + length, bytes.endIndex)]
        }
    }

    static func events(of pieces: [ArraySlice<UInt8>], _ source: TrustedProxies.Source? = nil) -> [Seen] {
        var framer = RequestFramer(limits: ListenerConfiguration.Limits(), trustedProxy: source)
        var seen: [Seen] = []
        for piece in pieces {
            framer.feed(ByteBuffer(bytes: piece))
            reading: while true {
                switch framer.next() {
                case .needMore: break reading
                case .continueExpected: continue
                case .request(let request): seen.append(describe(request))
                case .fault(let fault):
                    // A fault is final: every later piece yields the same fault, which is kept once.
                    if seen.last != .fault(fault.detail) { seen.append(.fault(fault.detail)) }
                    break reading
                }
            }
        }
        return seen
    }

    private static func describe(_ request: FramedRequest) -> Seen {
        let head = request.head
        for place in [head.path, head.query, head.authority, head.host].compactMap({ $0 })
        where place.upperBound > request.headBytes.readableBytes {
            propertyFails("a place ends at \(place.upperBound) of \(request.headBytes.readableBytes) bytes")
        }
        return .request(
            method: head.method.map { "\($0)" } ?? "other", path: Array(request.path.readableBytesView),
            query: head.query.map {
                Array(request.headBytes.readableBytesView.dropFirst($0.lowerBound).prefix($0.count))
            },
            body: Array(request.body.readableBytesView), keepsAlive: head.keepsAlive)
    }
}
