internal import Gateway
internal import GatewayConfiguration
internal import GatewayHTTP
internal import NIOCore
internal import NIOPosix
internal import OutboundTLS

/// Sends single requests to a backend or a hub, each on its own connection.
struct BackendConnector: Sendable {
    /// The address of the backend.
    let address: UpstreamAddress
    /// The verification of its certificate; nil without TLS.
    let tls: ClientTLS?

    private static let connectTimeout = TimeAmount.seconds(2)
    private static let responseTimeout = TimeAmount.seconds(65)

    /// Sends the bytes of a request and returns the response.
    ///
    /// - Parameter bodyLimit: The maximum length of the response's body, in bytes.
    func exchange(_ bytes: ByteBuffer, bodyLimit: Int = 64 << 10) async throws(ProbeError) -> BackendResponse {
        do {
            let channel = try await connect()
            let deadline = channel.channel.eventLoop.scheduleTask(in: Self.responseTimeout) {
                channel.channel.close(promise: nil)
            }
            defer { deadline.cancel() }
            return try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(bytes)
                var framer = ResponseFramer(bodyLimit: bodyLimit)
                for try await piece in inbound {
                    switch framer.receive(piece) {
                    case .needMore: continue
                    case .response(let response, _): return response
                    case .fault(let fault): throw ProbeError("the response is not HTTP: \(fault.detail)")
                    }
                }
                guard case .response(let response, _) = framer.receiveEnd() else {
                    throw ProbeError("the response was incomplete or missing")
                }
                return response
            }
        } catch let fault as ProbeError {
            throw fault
        } catch {
            throw ProbeError("\(address): \(OperatorMessage.of(error))")
        }
    }

    /// A connection, and the future that succeeds when a request may be written.
    private typealias Connection = (channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>, secured: EventLoopFuture<Void>)

    private func connect() async throws -> NIOAsyncChannel<ByteBuffer, ByteBuffer> {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(Self.connectTimeout)
        let initializer: @Sendable (any Channel) -> EventLoopFuture<Connection> = { [self] channel in
            channel.eventLoop.makeCompletedFuture {
                var secured = channel.eventLoop.makeSucceededVoidFuture()
                if case .tls(let host, _) = address {
                    guard let tls else { throw ProbeError("no TLS settings for the backend") }
                    secured = try tls.add(to: channel, host: host, timeout: Self.connectTimeout).finished
                }
                return (try NIOAsyncChannel(wrappingChannelSynchronously: channel), secured)
            }
        }
        let connection =
            switch address {
            case .tcp(let host, let port), .tls(let host, let port):
                try await bootstrap.connect(host: host, port: port, channelInitializer: initializer)
            case .unix(let path):
                try await bootstrap.connect(unixDomainSocketPath: path, channelInitializer: initializer)
            }
        do {
            try await connection.secured.get()
        } catch {
            try? await connection.channel.executeThenClose { _, _ in }
            throw error
        }
        return connection.channel
    }
}

extension ServerConfiguration {
    /// The hub outside this process, with its address and the verification of its certificate; nil without one.
    ///
    /// - Parameter tls: The verification of each backend's certificate.
    func remoteHub(
        _ tls: [ClientTLS?]
    ) -> (section: BackendSection, hub: HubSettings, address: UpstreamAddress, tls: ClientTLS?)? {
        for (section, tls) in zip(backends, tls) {
            guard let hub = section.hub, case .remote(let address) = section.address else { continue }
            return (section, hub, address, tls)
        }
        return nil
    }
}

/// The reason why a request of the probe has no response.
struct ProbeError: Error, Sendable, Hashable {
    let detail: String

    init(_ detail: String) { self.detail = detail }
}
