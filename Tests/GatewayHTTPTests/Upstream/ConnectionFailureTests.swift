import Foundation
import NIOCore
import NIOSSL
import Testing

@testable import GatewayHTTP

@Suite("Reasons of failed connections")
struct ConnectionFailureTests {
    private struct Other: Error {}

    @Test("Errors of libraries become plain sentences")
    func libraries() {
        for (error, reason) in [
            (IOError(errnoCode: ECONNREFUSED, reason: "connect") as any Error, "connection refused"),
            (IOError(errnoCode: ECONNRESET, reason: "read(descriptor:pointer:size:)"), "connection reset by peer"),
            (ChannelError.connectTimeout(.seconds(2)), "no connection within 2 s"),
            (ChannelError.connectTimeout(.milliseconds(1500)), "no connection within 1500 ms"),
            (ChannelError.eof, "the connection was closed"),
            (ChannelError.inappropriateOperationForState, "the connection failed"),
            (NIOSSLError.uncleanShutdown, "the other side ended the encrypted connection without notice"),
            (TLSConfigurationError.noAuthority, "no certificate authority is configured for it"),
            (Other(), "the connection failed"),
        ] {
            #expect(ConnectionFailure.backendReason(of: error) == reason)
        }
        let handshake = ConnectionFailure.reason(of: NIOSSLError.handshakeFailed(.wantRead))
        #expect(handshake?.hasPrefix("the TLS handshake failed: ") == true)
        #expect(ConnectionFailure.reason(of: Other()) == nil)
    }
}
