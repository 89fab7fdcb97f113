internal import Foundation
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayStore
internal import NIOCore
internal import NIOPosix

/// Converts errors of libraries, such as SwiftNIO and Foundation, to messages for operators.
public enum OperatorMessage {
    /// Returns the message: a sentence without a full stop.
    public static func of(_ error: any Error) -> String {
        switch error {
        case let error as LedgerUnavailable: error.detail
        case let error as JournalUnavailable: error.detail
        case is CancellationError: "it was stopped before it started"
        case let error as CocoaError: of(error)
        default: ConnectionFailure.reason(of: error) ?? "\(error)"
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
