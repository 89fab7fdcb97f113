internal import NIOCore
internal import NIOHTTP2

/// The limits of an HTTP/2 connection. They are complete, so that no limit depends on the defaults of a library.
enum HTTP2Limits {
    /// The maximum number of concurrent streams, and of calls in progress including those of reset streams.
    static let streams = 100
    /// The window size of a stream and of the connection, in bytes. It is larger than a body may be.
    static let window = 65_535
    /// The maximum number of events of one kind within `span`: stream resets, stream errors, control frames.
    private static let maximumEvents = 200
    private static let span = TimeAmount.seconds(30)

    static func connection(
        _ limits: ListenerConfiguration.Limits
    ) -> NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streams),
            HTTP2Setting(parameter: .initialWindowSize, value: window),
            // A larger list closes the connection. A list between the limits of a request and this size gets status
            // 431.
            HTTP2Setting(parameter: .maxHeaderListSize, value: 2 * (limits.headerBlock + limits.requestLine)),
        ]
        // `HTTP2RequestReader` performs the same checks with its own rules. Checking twice would double the CPU time
        // that a client can cause with one byte that refers to a long table entry.
        configuration.headerBlockValidation = .disabled
        configuration.contentLengthValidation = .enabled
        configuration.targetWindowSize = window
        configuration.maximumSequentialEmptyDataFrames = 8
        configuration.maximumSequentialContinuationFrames = 8
        // Frames for a stream may still arrive after the stream was reset.
        configuration.maximumRecentlyResetStreams = streams
        configuration.maximumBufferedControlFrames = maximumEvents
        configuration.maximumConnectionGlitches = maximumEvents
        configuration.controlFrameRateLimit.maximumCount = maximumEvents
        configuration.controlFrameRateLimit.windowLength = span
        return configuration
    }

    static func stream() -> NIOHTTP2Handler.StreamConfiguration {
        var configuration = NIOHTTP2Handler.StreamConfiguration()
        configuration.targetWindowSize = window
        configuration.streamResetFrameRateLimit.maximumCount = maximumEvents
        configuration.streamResetFrameRateLimit.windowLength = span
        configuration.streamErrorRateLimit.maximumCount = maximumEvents
        configuration.streamErrorRateLimit.windowLength = span
        return configuration
    }
}
