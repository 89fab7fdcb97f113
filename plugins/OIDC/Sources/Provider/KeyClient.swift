internal import AsyncHTTPClient
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL

/// The certificates that the provider's certificate must descend from.
struct TrustedAuthorities: Sendable {
    let certificates: [NIOSSLCertificate]
}

/// Reads the provider's discovery document and key set over HTTP.
final class KeyClient: Sendable {
    /// The time for one reading of the keys, the discovery included.
    static let deadline = TimeAmount.seconds(2)

    private let issuer: String
    private let location: OIDCPlugin.KeyLocation
    private let client: HTTPClient

    init(_ settings: OIDCPlugin.Settings, _ authorities: TrustedAuthorities?) {
        issuer = settings.issuer
        location = settings.keys
        var tls = TLSConfiguration.makeClientConfiguration()
        if let authorities { tls.trustRoots = .certificates(authorities.certificates) }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            // A redirect would let another host decide who may log in.
            redirectConfiguration: .disallow,
            timeout: .init(connect: Self.deadline, read: Self.deadline),
            connectionPool: .init(idleTimeout: .seconds(1), concurrentHTTP1ConnectionsPerHostSoftLimit: 1))
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    }

    deinit {
        // The client keeps itself alive until it has closed its connections.
        client.shutdown { _ in }
    }

    /// Reads the key set. Ends at the deadline at the latest.
    func keys() async throws(KeyFailure) -> KeySet {
        let deadline = NIODeadline.now() + Self.deadline
        let url: String
        switch location {
        case .discovery: url = try await keysURL(deadline)
        case .url(let text): url = text
        // A file is read by `KeySetFile`.
        case .file: throw KeyFailure("the keys are in a file")
        }
        let document = try await get(url, "the key set", deadline)
        do { return try KeySet(document) } catch { throw KeyFailure("the key set \(error)") }
    }

    /// Returns `jwks_uri` of the discovery document (OpenID Connect Discovery 1.0, section 4.3).
    private func keysURL(_ deadline: NIODeadline) async throws(KeyFailure) -> String {
        let name = "the discovery document"
        let bytes = try await get(ProviderURL.discovery(of: issuer), name, deadline)
        guard let document = try? JSONParser(depthLimit: 8, memberLimit: 2048).parse(bytes.span) else {
            throw KeyFailure("\(name) is not a JSON document, or names a member twice")
        }
        guard document["issuer"]?.string == issuer else { throw KeyFailure("\(name) is of another issuer") }
        guard let url = document["jwks_uri"]?.string else { throw KeyFailure("\(name) has no jwks_uri") }
        if let fault = ProviderURL.fault(in: url, allowsPlaintext: ProviderURL.isPlaintext(issuer)) {
            throw KeyFailure("jwks_uri of \(name) \(fault)")
        }
        return url
    }

    private func get(_ url: String, _ name: String, _ deadline: NIODeadline) async throws(KeyFailure) -> [UInt8] {
        let response: HTTPClient.Response
        do {
            let request = try HTTPClient.Request(
                url: url, method: .GET,
                headers: ["Accept": "application/json", "User-Agent": "notify-gateway"])
            // The deadline covers the whole exchange, including the body.
            response = try await client.execute(
                request: request, delegate: ResponseAccumulator(request: request, maxBodySize: KeySet.maximumSize),
                deadline: deadline
            ).futureResult.get()
        } catch {
            throw KeyFailure("\(name) was not read: \(KeyFailure.reason(of: error))")
        }
        guard response.status == .ok else { throw KeyFailure("\(name) has the status \(response.status.code)") }
        return response.body.map { Array($0.readableBytesView) } ?? []
    }

    /// Reads a PEM file of certificates on the file pool.
    static func trustedAuthorities(
        _ file: String, context: PluginContext
    ) async throws(ConfigurationError) -> TrustedAuthorities {
        let certificates: [NIOSSLCertificate]?
        do {
            certificates = try await context.filePool.run { try? NIOSSLCertificate.fromPEMFile(file) }
        } catch {
            throw ConfigurationError(file: file, "was not read: the queue of the file threads is full; try again")
        }
        guard let certificates, !certificates.isEmpty else {
            throw ConfigurationError(file: file, "cannot be read, or contains no certificate in PEM")
        }
        return TrustedAuthorities(certificates: certificates)
    }
}
