internal import NIOCore
internal import NIOHTTP2

/// The limits of an HTTP/2 connection. They are complete, so that no limit depends on the defaults of a library.
enum HTTP2Limits {
    /// The maximum number of concurrent streams, and of calls in progress including those of reset streams.
    static let streams = 100
    /// The maximum number of streams that were reset while the client may still send frames for them. A connection with
    /// more is closed as in a shutdown.
    static let resetStreams = 400
    /// The window size of a stream and of the connection, in bytes. It is larger than a body may be.
    static let window = 65_535
    /// The maximum number of control frames that wait because the client does not read.
    private static let maximumBufferedFrames = 200

    /// Returns the SETTINGS frame that the client gets.
    static func announcedSettings(_ limits: ListenerConfiguration.Limits) -> ByteBuffer {
        HTTP2FrameBytes.settings([
            3: UInt32(streams), 4: UInt32(window),
            // A list up to the library's limit gets status 431.
            6: UInt32(clamping: 2 * (limits.headerBlock + limits.requestLine)),
        ])
    }

    /// Returns the settings that the HTTP/2 library enforces by ending the connection. They leave room for requests
    /// beyond the announced settings, which are answered or refused on their stream.
    ///
    /// - Parameter carriesManyClients: Whether the connection carries the requests of many clients. A proxy may pass on
    ///   larger fields than announced.
    static func enforcedSettings(
        _ limits: ListenerConfiguration.Limits, carriesManyClients: Bool
    ) -> HTTP2Settings {
        let announced = 2 * (limits.headerBlock + limits.requestLine)
        let fieldBytes = carriesManyClients ? max(128 * 1024, announced) : announced
        return [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 2 * (streams + resetStreams)),
            HTTP2Setting(parameter: .initialWindowSize, value: window),
            HTTP2Setting(parameter: .maxHeaderListSize, value: fieldBytes),
        ]
    }

    static func connection(
        _ limits: ListenerConfiguration.Limits, carriesManyClients: Bool
    ) -> NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = enforcedSettings(limits, carriesManyClients: carriesManyClients)
        // `HTTP2RequestReader` performs the same checks with its own rules. Checking twice would double the CPU time
        // that a client can cause with one byte that refers to a long table entry.
        configuration.headerBlockValidation = .disabled
        // A mismatch is a stream error of `HTTP2ConnectionHandler`. After one of the library, trailers on their way
        // would end the connection.
        configuration.contentLengthValidation = .disabled
        configuration.targetWindowSize = window
        configuration.maximumSequentialContinuationFrames = 8
        // Frames for a stream may still arrive after the stream was reset.
        configuration.maximumRecentlyResetStreams = streams
        configuration.maximumBufferedControlFrames = maximumBufferedFrames
        // `FrameRateLimiter` counts these events. The library would end the connection with GOAWAY for stream 0, as if
        // no call had begun, and does not refund served calls.
        configuration.maximumSequentialEmptyDataFrames = .max
        configuration.maximumConnectionGlitches = .max
        configuration.controlFrameRateLimit.maximumCount = 1
        configuration.controlFrameRateLimit.windowLength = noWindow
        return configuration
    }

    static func stream() -> NIOHTTP2Handler.StreamConfiguration {
        var configuration = NIOHTTP2Handler.StreamConfiguration()
        configuration.targetWindowSize = window
        configuration.streamResetFrameRateLimit.maximumCount = 1
        configuration.streamResetFrameRateLimit.windowLength = noWindow
        configuration.streamErrorRateLimit.maximumCount = 1
        configuration.streamErrorRateLimit.windowLength = noWindow
        return configuration
    }

    /// The length of a window that no earlier event is within, because every event is older than that.
    private static let noWindow = TimeAmount.nanoseconds(-1)
}
