internal import NIOCore
internal import NIOHTTP2

/// What a connection of HTTP/2 may do before it is closed. All of it is said here; nothing is left to a library's defaults.
enum HTTP2Limits {
    /// Streams at once, and calls of streams that were reset and that still go on.
    static let streams = 100
    /// Bytes of a stream's, and of the connection's, window: more than a body may have.
    static let window = 65_535
    /// Of one kind of trouble within `span`: resets, faults of streams, control frames.
    private static let troubles = 200
    private static let span = TimeAmount.seconds(30)

    static func connection(
        _ limits: ListenerConfiguration.Limits
    ) -> NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streams),
            HTTP2Setting(parameter: .initialWindowSize, value: window),
            // What is beyond this ends the connection; what is beyond the limit and within this is answered with 431.
            HTTP2Setting(parameter: .maxHeaderListSize, value: 2 * (limits.headerBlock + limits.requestLine)),
        ]
        // `HTTP2RequestReader` checks all of what this would, and by its own rules; twice over would double what a client can have
        // the gateway do by a byte that refers to a long entry of the table.
        configuration.headerBlockValidation = .disabled
        configuration.contentLengthValidation = .enabled
        configuration.targetWindowSize = window
        configuration.maximumSequentialEmptyDataFrames = 8
        configuration.maximumSequentialContinuationFrames = 8
        // Frames of the client's that were on their way when a stream was reset.
        configuration.maximumRecentlyResetStreams = streams
        configuration.maximumBufferedControlFrames = troubles
        configuration.maximumConnectionGlitches = troubles
        configuration.controlFrameRateLimit.maximumCount = troubles
        configuration.controlFrameRateLimit.windowLength = span
        return configuration
    }

    static func stream() -> NIOHTTP2Handler.StreamConfiguration {
        var configuration = NIOHTTP2Handler.StreamConfiguration()
        configuration.targetWindowSize = window
        configuration.streamResetFrameRateLimit.maximumCount = troubles
        configuration.streamResetFrameRateLimit.windowLength = span
        configuration.streamErrorRateLimit.maximumCount = troubles
        configuration.streamErrorRateLimit.windowLength = span
        return configuration
    }
}
