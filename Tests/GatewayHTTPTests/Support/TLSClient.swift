import GatewayTesting
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

@testable import GatewayHTTP

/// What a TLS client of a test asks for.
struct TLSOffer: Sendable {
    var protocols = ["http/1.1"]
    /// The one version; nil for whatever both sides like best.
    var version: TLSVersion?
    /// The authority that signed whoever the client talks to.
    var authority = TestCertificate.authority

    /// What came of the handshake.
    struct Agreement: Sendable {
        let protocolName: String?
        let certificate: NIOSSLCertificate?
    }

    func context() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.utf8)))
        configuration.applicationProtocols = protocols
        if let version {
            configuration.minimumTLSVersion = version
            configuration.maximumTLSVersion = version
        }
        return try NIOSSLContext(configuration: configuration)
    }
}

extension RawClient {
    /// Connects, and shakes hands; throws what went wrong with that.
    static func connect(
        to address: SocketAddress, offering offer: TLSOffer, group: any EventLoopGroup
    ) async throws -> (client: RawClient, agreement: TLSOffer.Agreement) {
        let context = try offer.context()
        let promise = group.next().makePromise(of: TLSOffer.Agreement.self)
        let client = try await connect(to: address, group: group) { pipeline in
            try pipeline.addHandlers([
                NIOSSLClientHandler(context: context, serverHostname: "localhost"), HandshakeObserver(promise),
            ])
        }
        return (client, try await promise.futureResult.get())
    }

    private final class HandshakeObserver: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let promise: EventLoopPromise<TLSOffer.Agreement>

        init(_ promise: EventLoopPromise<TLSOffer.Agreement>) { self.promise = promise }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if case .handshakeCompleted(let name)? = event as? TLSUserEvent {
                let tls = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
                promise.succeed(.init(protocolName: name, certificate: tls?.peerCertificate))
            }
            context.fireUserInboundEventTriggered(event)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            promise.fail(error)
            context.fireErrorCaught(error)
        }

        func channelInactive(context: ChannelHandlerContext) {
            promise.fail(ChannelError.eof)
            context.fireChannelInactive()
        }
    }
}

extension TestCertificate {
    /// The certificate and its key, as listeners take them.
    func identity() throws -> TLSIdentity { try TLSIdentity(certificates: certificate, key: key) }

    /// The certificate as the other side sees it.
    func presented() throws -> NIOSSLCertificate? { try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).first }
}
