import GatewayTesting
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

@testable import GatewayHTTP

/// The handshake parameters of a TLS client.
struct TLSOffer: Sendable {
    var protocols = ["http/1.1"]
    /// The only version; nil for the best common one.
    var version: TLSVersion?
    /// The authority that has signed the server's certificate.
    var authority = TestCertificate.authority
    /// The client certificate with its key; nil for none.
    var identity: TestClientCertificate?
    /// The intermediate authorities that the client sends with its certificate, in PEM.
    var intermediates = ""

    /// The result of the handshake.
    struct Agreement: Sendable {
        let protocolName: String?
        let certificate: NIOSSLCertificate?
    }

    func context() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.utf8)))
        configuration.applicationProtocols = protocols
        if let identity {
            let chain = identity.certificate + intermediates
            configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(chain.utf8)).map {
                .certificate($0)
            }
            configuration.privateKey = .privateKey(
                try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem))
        }
        if let version {
            configuration.minimumTLSVersion = version
            configuration.maximumTLSVersion = version
        }
        return try NIOSSLContext(configuration: configuration)
    }
}

extension RawConnection {
    /// Connects and performs the handshake. Throws the error of the handshake.
    static func connect(
        to address: SocketAddress, offering offer: TLSOffer, group: any EventLoopGroup
    ) async throws -> (client: RawConnection, agreement: TLSOffer.Agreement) {
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
    /// The certificate and its key in the form of a listener.
    func identity() throws -> TLSIdentity { try TLSIdentity(certificates: certificate, key: key) }

    /// The certificate in the form of its verifier.
    func presented() throws -> NIOSSLCertificate? { try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).first }
}
