internal import NIOCore
internal import NIOHTTP1

/// Rejects a request with several `Host` fields (RFC 9112, section 3.2), or whose target is not a path.
///
/// It stands before the conversion to HTTP types, which keeps one host of several. A rejected request continues as an
/// error, and its other parts are discarded.
final class RequestLineCheck: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    /// The error that the next handlers receive.
    struct AmbiguousTarget: Error {
        /// Whether the method is HEAD, whose response has no body.
        let isHead: Bool
    }

    private var isRejected = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRejected else { return }
        if case .head(let head) = unwrapInboundIn(data), head.headers["host"].count > 1 || !head.uri.hasPrefix("/") {
            isRejected = true
            return context.fireErrorCaught(AmbiguousTarget(isHead: head.method == .HEAD))
        }
        context.fireChannelRead(data)
    }
}
