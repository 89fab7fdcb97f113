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
    case version
    /// A frame arrived while no request was outstanding.
    case unsolicited
    /// The verdict has another id than the request.
    case anotherRequest
    /// The verdict is malformed.
    case malformedVerdict
    /// The hello did not arrive in time.
    case silent
    /// The verdict did not arrive in time.
    case late
    /// The process closed while a frame was outstanding.
    case closed
    /// The connection failed.
    case transport
    /// The connection could not be established, with the reason.
    case unreachable(String)
}
