internal import Foundation
internal import GatewayCore
internal import GatewayHTTP
internal import NIOCore
internal import NIOPosix

/// Converts errors of libraries, such as SwiftNIO and Foundation, to messages for operators.
public enum OperatorMessage {
    /// Returns the message: a sentence without a full stop.
    public static func of(_ error: any Error) -> String {
        switch error {
        case let error as LedgerUnavailable: error.detail
        case let error as JournalUnavailable: error.detail
        case let error as IOError: String(cString: strerror(error.errnoCode)).lowercasedFirst
        case let error as NIOConnectionError: of(error)
        case let error as ChannelError: of(error)
        case _ where TLSFailure.includes(error):
            "the TLS handshake failed: the certificate is of another authority or for another name, or the other side "
                + "does not use TLS"
        case is CancellationError: "it was stopped before it started"
        case let error as CocoaError: of(error)
        default: "\(error)"
        }
    }

    private static func of(_ error: NIOConnectionError) -> String {
        if let last = error.connectionErrors.last { return of(last.error) }
        if error.dnsAError != nil || error.dnsAAAAError != nil { return "the host name \(error.host) is unknown" }
        return "\(error.host) has no address"
    }

    private static func of(_ error: ChannelError) -> String {
        switch error {
        case .connectTimeout(let time): "no connection within \(time.nanoseconds / 1_000_000_000) s"
        case .alreadyClosed, .ioOnClosedChannel, .inputClosed, .outputClosed, .eof: "the connection was closed"
        default: "the connection failed (\(error))"
        }
    }

    /// Returns the reason of a file error, with the path of the file.
    private static func of(_ error: CocoaError) -> String {
        let reason =
            switch error.code {
            case .fileNoSuchFile, .fileReadNoSuchFile: "does not exist"
            case .fileReadNoPermission, .fileWriteNoPermission: "permission denied"
            case .fileWriteOutOfSpace: "the disk is full"
            case .fileWriteVolumeReadOnly: "the file system is read-only"
            case .fileWriteFileExists: "already exists"
            default:
                (error.underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)).lowercasedFirst }
                    ?? "cannot be used (\(error.code.rawValue))"
            }
        return error.filePath.map { "\($0): \(reason)" } ?? reason
    }

    /// Returns why a file cannot be read, for an `errno` value.
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
    /// The text with a lowercase first letter, for use within a sentence.
    fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
