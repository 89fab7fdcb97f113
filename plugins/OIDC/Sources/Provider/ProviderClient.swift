internal import AsyncHTTPClient
internal import Foundation
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL
internal import OutboundHTTP
internal import OutboundTLS
internal import Synchronization

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
///
/// A provider may have its documents and endpoints on several servers. Each has a client of its own, which verifies
/// certificates for that server's name.
final class ProviderClient: Sendable {
    /// The bounds of an exchange.
    struct Bounds: Sendable, Hashable {
        let time: TimeAmount
        /// The maximum length of a response's body in bytes.
        let size: Int
        /// The number of connections to a server beyond which exchanges wait for each other.
        let connections: Int
    }

    /// The client of one server. Keep it until its exchanges are complete.
    private final class ServerClient: Sendable {
        let http: HTTPClient

        init(_ http: HTTPClient) { self.http = http }

        deinit {
            // The client keeps itself alive until it has closed its connections.
            http.shutdown { _ in }
        }
    }

    let bounds: Bounds
    private let authorities: TrustedAuthorities?
    /// The clients by host. More hosts than a provider has come only from documents that change.
    private let servers = Mutex<[String: ServerClient]>([:])
    private static let maximumServers = 8

    init(_ authorities: TrustedAuthorities?, _ bounds: Bounds) {
        self.bounds = bounds
        self.authorities = authorities
    }

    /// Returns the client of the request's server.
    private func server(of request: HTTPClient.Request) -> ServerClient {
        servers.withLock { servers in
            if let server = servers[request.host] { return server }
            if servers.count >= Self.maximumServers { servers.removeAll() }
            let server = ServerClient(
                .outbound(
                    to: request.url.absoluteString, timeout: .init(connect: bounds.time, read: bounds.time),
                    idleTime: .seconds(1), connections: bounds.connections,
                    tls: .outbound(trusting: authorities?.certificates)))
            servers[request.host] = server
            return server
        }
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
            let server = server(of: request)
            defer { withExtendedLifetime(server) {} }
            // The deadline covers the whole exchange, including the body.
            let response = try await server.http.execute(
                request: request, delegate: ResponseAccumulator(request: request, maxBodySize: bounds.size),
                deadline: deadline
            ).futureResult.get()
            return (response.status.code, response.body.map { Array($0.readableBytesView) } ?? [])
        } catch {
            throw ProviderFailure("\(name) was not read: \(ProviderFailure.reason(of: error, bounds))")
        }
    }
}
