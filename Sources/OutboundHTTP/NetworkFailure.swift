internal import AsyncHTTPClient
internal import Foundation
internal import GatewaySupport
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// The reasons of failed connections, for the log. Errors of SwiftNIO and the HTTP client never reach a person.
package enum NetworkFailure {
    /// Returns the reason as a sentence without a full stop.
    package static func reason(of error: any Error) -> String {
        switch error {
        case is HTTPParserError: "the response is not valid HTTP"
        case let error as HTTPClientError: reason(of: error)
        case let error as IOError: reason(ofSystemCall: error.errnoCode)
        case let error as NIOConnectionError: reason(of: error)
        case let error as ChannelError: reason(of: error)
        case let error as ServerName.Mismatch: error.description
        case NIOSSLError.uncleanShutdown: "the receiver ended the encrypted connection without notice"
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            "the TLS handshake failed: the certificate has expired or is of another authority, or the receiver does not "
                + "use TLS"
        default: "the connection failed"
        }
    }

    private static func reason(of error: HTTPClientError) -> String {
        switch error {
        case .deadlineExceeded, .readTimeout: "no response before the deadline"
        case .connectTimeout: "no connection in time"
        case .remoteConnectionClosed: "the receiver closed the connection before its response was complete"
        case .uncleanShutdown: "the receiver ended the encrypted connection without notice"
        case .tlsHandshakeTimeout: "the TLS handshake took too long"
        case .writeTimeout: "the receiver did not read the request in time"
        default: "the request failed"
        }
    }

    private static func reason(of error: NIOConnectionError) -> String {
        // Each address of the host was tried.
        if let last = error.connectionErrors.last { return reason(of: last.error) }
        if error.dnsAError != nil || error.dnsAAAAError != nil { return "the host name \(error.host) is unknown" }
        return "\(error.host) has no address"
    }

    private static func reason(of error: ChannelError) -> String {
        switch error {
        case .connectTimeout: "no connection in time"
        case .alreadyClosed, .ioOnClosedChannel, .inputClosed, .outputClosed, .eof: "the connection was closed"
        default: "the connection failed"
        }
    }

    private static func reason(ofSystemCall code: CInt) -> String {
        let text = String(cString: strerror(code))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}
