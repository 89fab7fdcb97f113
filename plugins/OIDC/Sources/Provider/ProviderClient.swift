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

    /// Reads a PEM file of certificates on the file pool.
    static func read(_ file: String, context: PluginContext) async throws(ConfigurationError) -> TrustedAuthorities {
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

/// Requests to the provider over HTTP, within bounds of time and size. Follows no redirect and retries nothing.
final class ProviderClient: Sendable {
    /// The bounds of an exchange.
    struct Bounds: Sendable, Hashable {
        let time: TimeAmount
        /// The maximum length of a response's body in bytes.
        let size: Int
        /// The number of connections beyond which exchanges wait for each other.
        let connections: Int
    }

    let bounds: Bounds
    private let client: HTTPClient

    init(_ authorities: TrustedAuthorities?, _ bounds: Bounds) {
        self.bounds = bounds
        var tls = TLSConfiguration.makeClientConfiguration()
        if let authorities { tls.trustRoots = .certificates(authorities.certificates) }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            // A redirect would let another host decide who may log in.
            redirectConfiguration: .disallow,
            timeout: .init(connect: bounds.time, read: bounds.time),
            connectionPool: .init(
                idleTimeout: .seconds(1), concurrentHTTP1ConnectionsPerHostSoftLimit: bounds.connections))
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    }

    deinit {
        // The client keeps itself alive until it has closed its connections.
        client.shutdown { _ in }
    }

    /// Returns the body of a document.
    ///
    /// - Parameter name: The name of the document for messages, such as `the key set`.
    func document(at url: String, _ name: String, _ deadline: NIODeadline) async throws(ProviderFailure) -> [UInt8] {
        let (status, body) = try await response(name, deadline) {
            try HTTPClient.Request(url: url, headers: Self.fields)
        }
        guard status == 200 else { throw ProviderFailure("\(name) has the status \(status)") }
        return body
    }

    /// Sends a form and returns the status and the body of the response.
    ///
    /// - Parameters:
    ///   - name: The name of the response for messages.
    ///   - authorization: The value of `Authorization`; nil for a request without it.
    func post(
        _ form: String, to url: String, _ name: String, authorization: String?, _ deadline: NIODeadline
    ) async throws(ProviderFailure) -> (status: UInt, body: [UInt8]) {
        try await response(name, deadline) {
            var fields = Self.fields
            fields.add(name: "Content-Type", value: "application/x-www-form-urlencoded")
            if let authorization { fields.add(name: "Authorization", value: authorization) }
            return try HTTPClient.Request(url: url, method: .POST, headers: fields, body: .string(form))
        }
    }

    private static let fields: HTTPHeaders = ["Accept": "application/json", "User-Agent": "notify-gateway"]

    private func response(
        _ name: String, _ deadline: NIODeadline, to makeRequest: () throws -> HTTPClient.Request
    ) async throws(ProviderFailure) -> (status: UInt, body: [UInt8]) {
        do {
            let request = try makeRequest()
            // The deadline covers the whole exchange, including the body.
            let response = try await client.execute(
                request: request, delegate: ResponseAccumulator(request: request, maxBodySize: bounds.size),
                deadline: deadline
            ).futureResult.get()
            return (response.status.code, response.body.map { Array($0.readableBytesView) } ?? [])
        } catch {
            throw ProviderFailure("\(name) was not read: \(ProviderFailure.reason(of: error, bounds))")
        }
    }
}
