internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A message of the protocol: its length in four bytes, most significant byte first, then that many bytes of JSON.
enum Frame {
    /// The maximum length of the JSON in bytes.
    static let maximumLength = 65_536

    /// Returns the frame for the JSON.
    static func encode(_ json: [UInt8]) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(minimumWritableBytes: 4 + json.count)
        buffer.writeInteger(UInt32(truncatingIfNeeded: json.count))
        buffer.writeBytes(json)
        return buffer
    }

    /// Parses the JSON object of a frame. The member limit allows for a verdict with very many groups.
    static func decodeObject(_ frame: ByteBuffer) throws(ProtocolError) -> JSONValue {
        let bytes = Array(frame.readableBytesView)
        guard let value = try? JSONParser(depthLimit: 8, memberLimit: 2048).parse(bytes.span), case .object = value
        else { throw .notJSON }
        return value
    }
}

/// Splits the byte stream into frames. Buffers at most one frame and the bytes that arrived with it.
struct FrameDecoder: ByteToMessageDecoder {
    typealias InboundOut = ByteBuffer

    mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: UInt32.self) else { return .needMoreData }
        // Checked before the frame is complete: an excessive length would keep the connection waiting for bytes.
        guard (1...UInt32(Frame.maximumLength)).contains(length) else { throw ProtocolError.frameLength(length) }
        guard buffer.readableBytes >= 4 + Int(length) else { return .needMoreData }
        buffer.moveReaderIndex(forwardBy: 4)
        guard let frame = buffer.readSlice(length: Int(length)) else { return .needMoreData }
        context.fireChannelRead(wrapInboundOut(frame))
        return .continue
    }

    mutating func decodeLast(
        context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
    ) throws -> DecodingState {
        while try decode(context: context, buffer: &buffer) == .continue {}
        if seenEOF, buffer.readableBytes > 0 { throw ProtocolError.truncated }
        return .needMoreData
    }
}

/// A fault after which a connection to the process cannot be used any more.
enum ProtocolError: Error, Hashable {
    /// The length of a frame is zero, or above the limit.
    case frameLength(UInt32)
    /// The process closed in the middle of a frame.
    case truncated
    /// The frame is not a JSON object, or has a duplicate name.
    case notJSON
    /// The first frame is not a hello.
    case notHello
    /// The process selected a version that was not offered.
    case unsupportedVersion
    /// A frame arrived while no request was outstanding.
    case unsolicited
    /// The reply has another id than the request.
    case wrongRequestID
    /// The verdict is malformed.
    case malformedVerdict
    /// The report on an account is malformed.
    case malformedStatus
    /// The hello did not arrive in time.
    case helloTimeout
    /// The reply did not arrive in time.
    case replyTimeout
    /// The process closed while a frame was outstanding.
    case closed
    /// The connection failed.
    case transport
    /// The connection could not be established, with the reason.
    case unreachable(String)
}
