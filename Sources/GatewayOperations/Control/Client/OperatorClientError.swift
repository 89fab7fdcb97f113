internal import AsyncHTTPClient
internal import Foundation
internal import GatewayConfiguration
internal import NIOCore

/// The reason why a command received no complete response from a gateway.
public enum OperatorClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// No process listens at the path.
    case noGateway(path: String)
    /// This user may not connect to the socket.
    case notAllowed(path: String)
    /// The path is not a socket, or a system call failed.
    case unusable(path: String, detail: String)
    /// The gateway sent nothing within the time limit.
    case timedOut
    /// The response was incomplete or invalid. The operation may have been carried out.
    case incompleteResponse
    /// The request exceeds the maximum length; nothing was sent.
    case tooLong

    /// Creates the error of a failed exchange.
    ///
    /// - Parameter isConnected: Whether the head of the response has arrived.
    init(_ error: any Error, path: String, isConnected: Bool) {
        switch error {
        case let error as HTTPClientError where error == .readTimeout: self = .timedOut
        case let error as HTTPClientError where error == .connectTimeout:
            self = .unusable(path: path, detail: "the connection was not accepted in time")
        case let error as IOError where !isConnected:
            switch error.errnoCode {
            case ENOENT, ECONNREFUSED, ENOTDIR: self = .noGateway(path: path)
            case EACCES, EPERM: self = .notAllowed(path: path)
            case ECONNRESET, EPIPE: self = .incompleteResponse
            default: self = .unusable(path: path, detail: OperatorMessage.of(error))
            }
        case is SocketAddressError: self = .unusable(path: path, detail: "the path is too long for a socket")
        default: self = .incompleteResponse
        }
    }

    /// A sentence for the operator.
    public var description: String {
        switch self {
        case .noGateway(let path): "No gateway runs: nothing listens at \(path)."
        case .notAllowed(let path): "\(path): permission denied; use root or the gateway's own user."
        case .unusable(let path, let detail): "\(path) cannot be used: \(detail)"
        case .timedOut: "The gateway sent no response in time. It may still carry the command out."
        case .incompleteResponse: "The gateway's response was incomplete; the operation may have been carried out."
        case .tooLong: "The arguments are too long. Nothing was sent."
        }
    }
}
