package import GatewaySupport
package import NIOCore
package import NIOSSL

extension ServerName {
    /// Verifies the certificate of a TLS handler's peer. Call it after the handshake, on the event loop.
    package func verify(_ handler: NIOSSLHandler) throws {
        try verify(handler.peerCertificate?.toDERBytes() ?? [])
    }

    /// Verifies the certificate of a connection whose handshake is complete, and closes the connection if it is not valid for
    /// the name. Succeeds for a connection without TLS.
    ///
    /// For clients that make their connections themselves. They must not write before the future has succeeded. Call it on the
    /// event loop. The future is complete when it is returned: AsyncHTTPClient regards a connection that the peer closes
    /// before that as usable, and a pool of one connection would wait for it for ever.
    @Sendable package func verifyPeer(of channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture {
            let handler: NIOSSLHandler
            do {
                handler = try channel.pipeline.syncOperations.handler(type: NIOSSLHandler.self)
            } catch ChannelPipelineError.notFound {
                return
            }
            do {
                try verify(handler)
            } catch {
                channel.close(promise: nil)
                throw error
            }
        }
    }
}
