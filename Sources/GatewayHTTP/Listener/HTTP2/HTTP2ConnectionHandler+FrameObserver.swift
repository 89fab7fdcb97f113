internal import NIOCore
internal import NIOHTTP2

extension HTTP2ConnectionHandler {
    /// An observer of the frames that the HTTP/2 library writes. It learns which responses are written completely, and
    /// replaces frames that the client must see differently; see ``HTTP2FrameBytes``.
    struct FrameObserver: NIOHTTP2FrameDelegate {
        private let handler: HTTP2ConnectionHandler

        init(_ handler: HTTP2ConnectionHandler) { self.handler = handler }

        func wroteFrame(_ frame: HTTP2Frame) {
            switch frame.payload {
            case .headers(let payload): if payload.endStream { handler.sentResponse(on: frame.streamID) }
            case .data(let payload): if payload.endStream { handler.sentResponse(on: frame.streamID) }
            case .settings(.settings): handler.replaceSettings()
            case .goAway(_, let code, _): handler.replaceGoAway(code)
            case .rstStream, .ping, .settings(.ack), .windowUpdate, .priority, .pushPromise, .alternativeService,
                .origin:
                break
            }
        }
    }

    /// The library writes its settings twice: in its preface, and again from ``applySettings()``. The client gets the
    /// announced ones, once.
    private func replaceSettings() {
        rateLimiter.replaceNextFrame(
            with: hasAnnouncedSettings ? nil : HTTP2Limits.announcedSettings(loop.configuration.limits))
        hasAnnouncedSettings = true
    }

    /// The library writes GOAWAY after a connection error only. It names the last stream that may have been processed,
    /// never a lower one (RFC 9113, section 6.8).
    private func replaceGoAway(_ code: HTTP2ErrorCode) {
        if !hasConnectionError, phase != .failing, phase != .closing { recordExceededLimit(code) }
        hasConnectionError = true
        rateLimiter.replaceNextFrame(with: HTTP2FrameBytes.goAway(lastStream: lastStream, code))
    }

    /// Makes the library enforce its settings from the client's first frame on.
    ///
    /// The library applies settings when they are acknowledged, and until then ends the connection at its defaults. So
    /// its settings are sent twice: ``FrameRateLimitHandler`` acknowledges the first ones, the client the second ones.
    func applySettings() {
        let settings = HTTP2Limits.enforcedSettings(
            loop.configuration.limits, carriesManyClients: carriesManyClients)
        send(.settings(.settings(settings)))
    }
}
