internal import NIOCore
internal import NIOHTTP2

/// The bytes of frames that pass the HTTP/2 library by. Its connection state must not know of them.
///
/// - GOAWAY: after it has sent one, the library refuses every new stream, or treats the frames of such a stream as a
///   connection error.
/// - RST_STREAM for an incomplete request: the library forgets the stream, so that trailers on their way end the
///   connection.
/// - SETTINGS: the library ends the connection of a client that exceeds the announced limits. Its own limits are
///   higher, so that the request is answered or refused on its stream.
enum HTTP2FrameBytes {
    private enum FrameType {
        static let reset: UInt8 = 3
        static let settings: UInt8 = 4
        static let goAway: UInt8 = 7
    }

    /// Returns a GOAWAY frame (RFC 9113, section 6.8).
    static func goAway(lastStream: HTTP2StreamID, _ code: HTTP2ErrorCode) -> ByteBuffer {
        var frame = header(length: 8, FrameType.goAway)
        frame.writeInteger(Int32(lastStream))
        frame.writeInteger(UInt32(http2ErrorCode: code))
        return frame
    }

    /// Returns a RST_STREAM frame (RFC 9113, section 6.4).
    static func reset(_ stream: HTTP2StreamID, _ code: HTTP2ErrorCode) -> ByteBuffer {
        var frame = header(length: 4, FrameType.reset, stream: Int32(stream))
        frame.writeInteger(UInt32(http2ErrorCode: code))
        return frame
    }

    /// Returns a SETTINGS frame (RFC 9113, section 6.5) with the identifiers and values.
    static func settings(_ settings: KeyValuePairs<UInt16, UInt32>) -> ByteBuffer {
        var frame = header(length: UInt8(6 * settings.count), FrameType.settings)
        for (identifier, value) in settings { frame.writeMultipleIntegers(identifier, value) }
        return frame
    }

    /// The acknowledgement of a SETTINGS frame.
    static let settingsAcknowledgement = header(length: 0, FrameType.settings, flags: 1)

    private static func header(length: UInt8, _ type: UInt8, flags: UInt8 = 0, stream: Int32 = 0) -> ByteBuffer {
        var frame = ByteBufferAllocator().buffer(capacity: 9 + Int(length))
        frame.writeMultipleIntegers(UInt16(0), length, type, flags, stream)
        return frame
    }
}
