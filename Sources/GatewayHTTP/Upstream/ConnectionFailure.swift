internal import GatewaySupport
internal import NIOCore
internal import NIOPosix
internal import NIOSSL

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The reasons for failed connections, in words for operators. The texts of SwiftNIO and TLS library errors are never
/// shown to a person.
public enum ConnectionFailure {
    /// Returns the reason as a sentence without a full stop; nil if it is not a connection error.
    public static func reason(of error: any Error) -> String? {
        switch error {
        case let error as IOError: reason(ofSystemCall: error.errnoCode)
        case let error as NIOConnectionError: reason(ofAttempts: error)
        case let error as ChannelError: reason(ofChannel: error)
        case let error as ServerName.Mismatch: error.description
        case NIOSSLError.uncleanShutdown: "the other side ended the encrypted connection without notice"
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            "the TLS handshake failed: the certificate has expired or is of another authority, or the other side does not "
                + "use TLS"
        default: nil
        }
    }

    /// Returns the reason of an error in a connection to the backend, for log lines and the output of commands.
    static func backendReason(of error: any Error) -> String {
        switch error {
        case TLSConfigurationError.noAuthority: "no certificate authority is configured for it"
        default: reason(of: error) ?? "the connection failed"
        }
    }

    private static func reason(ofSystemCall code: CInt) -> String {
        let text = String(cString: strerror(code))
        return text.prefix(1).lowercased() + text.dropFirst()
    }

    private static func reason(ofAttempts error: NIOConnectionError) -> String {
        // Each address of the host was tried.
        if let last = error.connectionErrors.last { return reason(of: last.error) ?? "the connection failed" }
        if error.dnsAError != nil || error.dnsAAAAError != nil { return "the host name \(error.host) is unknown" }
        return "\(error.host) has no address"
    }

    private static func reason(ofChannel error: ChannelError) -> String {
        switch error {
        case .connectTimeout(let time) where time.nanoseconds % 1_000_000_000 == 0:
            "no connection within \(time.nanoseconds / 1_000_000_000) s"
        case .connectTimeout(let time): "no connection within \(time.nanoseconds / 1_000_000) ms"
        case .alreadyClosed, .ioOnClosedChannel, .inputClosed, .outputClosed, .eof: "the connection was closed"
        default: "the connection failed"
        }
    }
}
