/// Why a command has no answer from a gateway.
public enum ControlClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Nobody listens at the path.
    case noGateway(path: String)
    /// This user may not connect there.
    case notAllowed(path: String)
    /// The path is no socket's, or the system fails.
    case unusable(path: String, detail: String)
    /// The gateway sent nothing for too long.
    case silent
    /// The answer has no end, or is no answer. What was asked for may have been done.
    case brokenOff
    /// The request is longer than any may be; nothing was sent.
    case tooLong

    /// A sentence for the operator.
    public var description: String {
        switch self {
        case .noGateway(let path): "No gateway listens at \(path)."
        case .notAllowed(let path): "You may not use \(path); only root and the gateway's own user may."
        case .unusable(let path, let detail): "\(path) cannot be used: \(detail)"
        case .silent: "The gateway does not answer."
        case .brokenOff: "The gateway broke its answer off; what was asked for may have been done."
        case .tooLong: "The arguments are too long."
        }
    }
}
