internal import NIOCore
internal import NIOEmbedded
internal import NIOHTTP1

@testable internal import GatewayHTTP

/// Whatever the request framer accepts, SwiftNIO's decoder reads as the same requests: the same path and query, the same body, in the
/// same order. The framer may be stricter, never different: a difference is how requests are smuggled past a proxy.
enum RequestFramerDifferentialTarget: FuzzTarget {
    static func run(_ input: [UInt8]) {
        var ours: [(target: [UInt8], body: [UInt8], isLast: Bool)] = []
        for event in RequestFramerTarget.events(of: [input[...]]) {
            guard case .request(_, let path, let query, let body, let keepsAlive) = event else { break }
            ours.append((path + (query.map { [UInt8(ascii: "?")] + $0 } ?? []), body, !keepsAlive))
            // The gateway closes the connection after this response, and reads nothing behind the request.
            if !keepsAlive { break }
        }
        guard !ours.isEmpty else { return }
        let theirs = nioRequests(in: input)
        for (index, our) in ours.enumerated() {
            guard index < theirs.count else {
                propertyFails("SwiftNIO reads \(theirs.count) requests, the framer reads \(ours.count)")
            }
            // The framer takes the authority off an absolute-form target.
            guard theirs[index].target == our.target || theirs[index].target.hasAuthority(before: our.target) else {
                propertyFails("target \(theirs[index].target) is not \(our.target)")
            }
            guard theirs[index].body == our.body else { propertyFails("body \(theirs[index].body) is not \(our.body)") }
        }
    }

    private static func nioRequests(in input: [UInt8]) -> [(target: [UInt8], body: [UInt8])] {
        let channel = EmbeddedChannel()
        var requests: [(target: [UInt8], body: [UInt8])] = []
        var current: (target: [UInt8], body: [UInt8])?
        try? channel.pipeline.syncOperations.addHandler(
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        // An error ends SwiftNIO's reading as well; the requests before it count.
        try? channel.writeInbound(ByteBuffer(bytes: input))
        while let part = try? channel.readInbound(as: HTTPServerRequestPart.self) {
            switch part {
            case .head(let head): current = (Array(head.uri.utf8), [])
            case .body(let bytes): current?.body += Array(bytes.readableBytesView)
            case .end:
                if let request = current { requests.append(request) }
                current = nil
            }
        }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        return requests
    }
}

extension [UInt8] {
    /// Whether these bytes are `scheme://authority` followed by the target, or by the target without the slash that stands for an empty
    /// path.
    fileprivate func hasAuthority(before target: [UInt8]) -> Bool {
        let text = String(decoding: self, as: UTF8.self).lowercased()
        guard text.hasPrefix("http://") || text.hasPrefix("https://") else { return false }
        return suffix(target.count).elementsEqual(target) || suffix(target.count - 1).elementsEqual(target.dropFirst())
    }
}
