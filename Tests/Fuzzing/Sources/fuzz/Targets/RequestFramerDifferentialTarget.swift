internal import NIOCore
internal import NIOEmbedded
internal import NIOHTTP1

@testable internal import GatewayHTTP

/// SwiftNIO's decoder reads the requests that the framer accepts as the same ones: the same path and query and the same body, in the
/// same order. Either may reject what the other accepts; reading it differently is how requests are smuggled past a proxy.
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
        let (theirs, hasFailed) = nioRequests(in: input)
        for (index, our) in ours.enumerated() {
            guard index < theirs.count else {
                // SwiftNIO rejects some requests that the framer accepts, such as those with an unknown method.
                if hasFailed { return }
                propertyFails("SwiftNIO reads \(theirs.count) requests, the framer reads \(ours.count)")
            }
            // The framer takes the authority off an absolute-form target.
            guard theirs[index].target == our.target || theirs[index].target.hasAuthority(before: our.target) else {
                propertyFails("target \(theirs[index].target) is not \(our.target)")
            }
            guard theirs[index].body == our.body else { propertyFails("body \(theirs[index].body) is not \(our.body)") }
        }
    }

    /// Returns the requests that SwiftNIO reads, and whether it rejects what follows them.
    private static func nioRequests(
        in input: [UInt8]
    ) -> (requests: [(target: [UInt8], body: [UInt8])], hasFailed: Bool) {
        let channel = EmbeddedChannel()
        var requests: [(target: [UInt8], body: [UInt8])] = []
        var current: (target: [UInt8], body: [UInt8])?
        try? channel.pipeline.syncOperations.addHandler(
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        // The requests before an error count.
        var hasFailed = false
        do { try channel.writeInbound(ByteBuffer(bytes: input)) } catch { hasFailed = true }
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
        return (requests, hasFailed)
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
