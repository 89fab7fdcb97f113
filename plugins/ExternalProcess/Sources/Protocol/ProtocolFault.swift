/// What ends a dialogue with the process: it cannot be trusted to be where we think it is.
enum ProtocolFault: Error, Hashable {
    /// A length of zero, or beyond the bound.
    case frameLength(UInt32)
    /// Closed in the middle of a frame.
    case truncated
    /// No JSON object, or one with a name twice.
    case notJSON
    /// Something else where the hello should have been.
    case notHello
    /// A version that was not offered.
    case version
    /// A frame that nobody asked for.
    case unsolicited
    /// A verdict on another request than the one that was made.
    case anotherRequest
    /// A verdict that does not read as one.
    case malformedVerdict
    /// No hello in time.
    case silent
    /// Its verdict did not come in time; what comes later is of no use.
    case late
    /// Closed while it owed a frame.
    case closed
    /// The connection failed.
    case transport
    /// No connection could be made, and why.
    case unreachable(String)
}
