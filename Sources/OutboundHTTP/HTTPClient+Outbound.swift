package import AsyncHTTPClient
internal import GatewaySupport
package import NIOCore
internal import NIOPosix
package import NIOSSL
internal import OutboundTLS

extension HTTPClient {
    /// Creates the client of one server, over HTTP/1.1 and on event loops of its own.
    ///
    /// With TLS, each connection is verified for the server's name before a request is written. The client follows no
    /// redirect, because that would send the request to an address of the server's choice, and repeats no attempt to connect.
    ///
    /// - Parameters:
    ///   - url: A URL of the server. Requests to another host fail if they are encrypted, unless its certificate is also for
    ///     this one.
    ///   - idleTime: How long an unused connection stays open.
    ///   - connections: The number of connections beyond which requests wait for each other.
    ///   - tls: A configuration made by `TLSConfiguration.outbound`, for requests that have none of their own.
    package static func outbound(
        to url: String, timeout: Configuration.Timeout, idleTime: TimeAmount, connections: Int,
        tls: TLSConfiguration = .outbound(trusting: nil)
    ) -> HTTPClient {
        var configuration = Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow, timeout: timeout,
            connectionPool: .init(idleTimeout: idleTime, concurrentHTTP1ConnectionsPerHostSoftLimit: connections))
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        // The host as the client itself reads it. The empty name of a malformed URL matches no certificate.
        let name = ServerName((try? Request(url: url))?.host ?? "")
        // Despite their names, the client waits for these before it uses a connection.
        configuration.http1_1ConnectionDebugInitializer = name.verifyPeer
        configuration.http2ConnectionDebugInitializer = name.verifyPeer
        return HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    }
}
