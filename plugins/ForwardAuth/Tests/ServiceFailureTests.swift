import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing

@testable import ForwardAuth

@Suite("Reasons of failed queries")
struct ServiceFailureTests {
    private struct Other: Error {}

    @Test("Errors of the HTTP client and of SwiftNIO become plain sentences")
    func libraries() {
        for (error, reason) in [
            (
                HTTPClientError.remoteConnectionClosed as any Error,
                "the service closed the connection before its response was complete"
            ),
            (HTTPClientError.tlsHandshakeTimeout, "the TLS handshake took too long"),
            (HTTPClientError.invalidHeaderFieldValues(["secret"]), "the query failed"),
            (HTTPParserError.invalidStatus, "the response is not valid HTTP"),
            (ResponseBodyTooLong(), "the response body exceeds 65536 bytes"),
            (IOError(errnoCode: ECONNREFUSED, reason: "connect"), "connection refused"),
            (ChannelError.connectTimeout(.seconds(2)), "no connection in time"),
            (ChannelError.inappropriateOperationForState, "the connection failed"),
            (NIOSSLError.uncleanShutdown, "the service ended the encrypted connection without notice"),
            (Other(), "the connection failed"),
        ] {
            #expect(ServiceFailure.reason(of: error) == reason)
        }
        #expect(ServiceFailure.reason(of: NIOSSLError.handshakeFailed(.wantRead)).hasPrefix("the TLS handshake failed"))
    }
}
