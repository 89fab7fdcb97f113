internal import Foundation
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayStore
internal import NIOCore
internal import NIOPosix

/// Errors of libraries in our words: no operator has to know how SwiftNIO or Foundation prints theirs.
public enum OperatorMessage {
    /// A sentence without a full stop.
    public static func of(_ error: any Error) -> String {
        switch error {
        case let error as LedgerUnavailable: error.detail
        case let error as JournalUnavailable: error.detail
        case let error as IOError: String(cString: strerror(error.errnoCode)).lowercasedFirst
        case let error as NIOConnectionError: of(error)
        case let error as ChannelError: of(error)
        case _ where TLSFailure.includes(error):
            "the TLS handshake failed; the certificate is of another authority or for another name, or the other side "
                + "speaks no TLS"
        case is CancellationError: "it was stopped before it had started"
        case let error as CocoaError: of(error)
        default: "\(error)"
        }
    }

    private static func of(_ error: NIOConnectionError) -> String {
        if let last = error.connectionErrors.last { return of(last.error) }
        if error.dnsAError != nil || error.dnsAAAAError != nil { return "the name \(error.host) is unknown" }
        return "\(error.host) has no address"
    }

    private static func of(_ error: ChannelError) -> String {
        switch error {
        case .connectTimeout(let time): "no connection within \(time.nanoseconds / 1_000_000_000) s"
        case .alreadyClosed, .ioOnClosedChannel, .inputClosed, .outputClosed, .eof: "the connection was closed"
        default: "the connection failed (\(error))"
        }
    }

    /// What the system says of a file, with its name.
    private static func of(_ error: CocoaError) -> String {
        let reason =
            switch error.code {
            case .fileNoSuchFile, .fileReadNoSuchFile: "does not exist"
            case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
            case .fileWriteOutOfSpace: "the disk is full"
            case .fileWriteVolumeReadOnly: "the file system is read-only"
            case .fileWriteFileExists: "is there already"
            default:
                (error.underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)).lowercasedFirst }
                    ?? "cannot be used (\(error.code.rawValue))"
            }
        return error.filePath.map { "\($0): \(reason)" } ?? reason
    }

    /// Why a file cannot be read, by the error number of the last system call.
    static func reading(_ code: CInt) -> String {
        switch code {
        case ENOENT: "does not exist"
        case EACCES, EPERM:
            "cannot be read: permission denied for uid \(geteuid()); run this as root or as the gateway's user"
        case EISDIR: "is a directory"
        case let other: "cannot be read: \(String(cString: strerror(other)).lowercasedFirst)"
        }
    }
}

extension String {
    /// The text as a part of a sentence.
    fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
