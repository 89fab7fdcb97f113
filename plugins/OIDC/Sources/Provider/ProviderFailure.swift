internal import AsyncHTTPClient
internal import Foundation
internal import GatewaySupport
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// The reason why an exchange with the provider failed, for the log.
struct ProviderFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// A sentence without a full stop.
    let description: String

    init(_ description: String) { self.description = description }

    /// Returns the reason of an exchange that failed. Errors of the HTTP client and of SwiftNIO never reach a person.
    static func reason(of error: any Error, _ bounds: ProviderClient.Bounds) -> String {
        switch error {
        case is ResponseAccumulator.ResponseTooBigError: "it exceeds \(bounds.size) bytes"
        case is HTTPParserError: "the response is not valid HTTP"
        case let error as HTTPClientError:
            [.deadlineExceeded, .readTimeout, .connectTimeout].contains(error)
                ? "no response within \(bounds.time.nanoseconds / 1_000_000_000) s"
                : "the connection ended before the response was complete"
        case let error as IOError: reason(ofSystemCall: error.errnoCode)
        case let error as NIOConnectionError: reason(of: error, bounds)
        case let error as ServerName.Mismatch: error.description
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            "the TLS handshake failed: the certificate has expired or is of another authority, or the provider does not "
                + "use TLS"
        default: "the connection failed"
        }
    }

    private static func reason(of error: NIOConnectionError, _ bounds: ProviderClient.Bounds) -> String {
        // Each address of the host was tried.
        if let last = error.connectionErrors.last { return reason(of: last.error, bounds) }
        if error.dnsAError != nil || error.dnsAAAAError != nil { return "the host name \(error.host) is unknown" }
        return "\(error.host) has no address"
    }

    private static func reason(ofSystemCall code: CInt) -> String {
        let text = String(cString: strerror(code))
        return text.prefix(1).lowercased() + text.dropFirst()
    }
}
