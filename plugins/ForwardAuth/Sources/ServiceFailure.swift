internal import AsyncHTTPClient
internal import Foundation
internal import GatewaySupport
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// The reasons of failed queries, for the log. Errors of the HTTP client and of SwiftNIO never reach a person.
enum ServiceFailure {
    /// Returns the reason as a sentence without a full stop.
    static func reason(of error: any Error) -> String {
        switch error {
        case is ResponseBodyTooLong: "the response body exceeds \(ServiceResponse.maximumBodySize) bytes"
        case is ResponseWithoutHead: "the response has no head"
        case is HTTPParserError: "the response is not valid HTTP"
        case let error as HTTPClientError: reason(of: error)
        case let error as IOError: reason(ofSystemCall: error.errnoCode)
        case let error as NIOConnectionError: reason(of: error)
        case let error as ChannelError: reason(of: error)
        case let error as ServerName.Mismatch: error.description
        case NIOSSLError.uncleanShutdown: "the service ended the encrypted connection without notice"
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            "the TLS handshake failed: the certificate has expired or is of another authority, or the service does not "
                + "use TLS"
        default: "the connection failed"
        }
    }

    private static func reason(of error: HTTPClientError) -> String {
        switch error {
        case .remoteConnectionClosed: "the service closed the connection before its response was complete"
        case .uncleanShutdown: "the service ended the encrypted connection without notice"
        case .tlsHandshakeTimeout: "the TLS handshake took too long"
        case .writeTimeout: "the service did not read the request in time"
        default: "the query failed"
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
