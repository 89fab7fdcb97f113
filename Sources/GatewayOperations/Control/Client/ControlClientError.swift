/// The reason why a command received no complete response from a gateway.
public enum ControlClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No process listens at the path.
    case noGateway(path: String)
    /// This user may not connect to the socket.
    case notAllowed(path: String)
    /// The path is not a socket, or a system call failed.
    case unusable(path: String, detail: String)
    /// The gateway sent nothing within the time limit.
    case silent
    /// The response was incomplete or invalid. The operation may have been carried out.
    case brokenOff
    /// The request exceeds the maximum length; nothing was sent.
    case tooLong

    /// A sentence for the operator.
    public var description: String {
        switch self {
        case .noGateway(let path): "No gateway runs: nothing listens at \(path)."
        case .notAllowed(let path): "\(path): permission denied; use root or the gateway's own user."
        case .unusable(let path, let detail): "\(path) cannot be used: \(detail)"
        case .silent: "The gateway sent no response in time."
        case .brokenOff: "The gateway's response was incomplete; the operation may have been carried out."
        case .tooLong: "The arguments are too long. Nothing was sent."
        }
    }
}
