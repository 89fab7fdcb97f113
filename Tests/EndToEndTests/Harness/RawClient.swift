import Foundation
import GatewayTesting
import NIOCore
import NIOSSL
import NotifyBackend

/// An HTTP client that sends exactly the given bytes, each request on a new connection.
struct RawClient {
    private let address: SocketAddress
    private let source: SocketAddress?
    private let tls: NIOSSLContext?

    /// The port, or nil for a Unix socket.
    var port: Int? { address.port }

    /// Creates a client of a listener on 127.0.0.1.
    ///
    /// - Parameters:
    ///   - source: the source address; the loopback interface accepts each address of 127.0.0.0/8.
    ///   - authority: the authority that must have signed the listener's certificate for `localhost`, in PEM. Nil
    ///     disables TLS.
    ///   - identity: the client certificate for TLS; nil for none.
    init(
        port: Int, from source: String? = nil, trusting authority: String? = nil,
        presenting identity: TestClientCertificate? = nil
    ) throws {
        address = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        self.source = try source.map { try SocketAddress(ipAddress: $0, port: 0) }
        tls = try authority.map { authority in
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.utf8)))
            if let identity {
                configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(identity.certificate.utf8))
                    .map {
                        .certificate($0)
                    }
                configuration.privateKey = .privateKey(
                    try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem))
            }
            return try NIOSSLContext(configuration: configuration)
        }
    }

    /// Creates a client of a listener on a Unix socket.
    init(socket path: String) throws {
        address = try SocketAddress(unixDomainSocketPath: path)
        source = nil
        tls = nil
    }

    struct Response: Sendable {
        let status: Int
        let fields: [(name: String, value: String)]
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }

        func field(_ name: String) -> String? {
            fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }

        /// The code of a problem document.
        var problem: String? {
            guard field("Content-Type") == "application/problem+json",
                let object = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any],
                let type = object["type"] as? String
            else { return nil }
            return type.split(separator: ":").last.map(String.init)
        }
    }

    enum Failure: Error {
        case noResponse(String)
    }

    /// Opens a connection that the caller closes.
    func connect() async throws -> RawConnection {
        try await RawConnection.connect(to: address, from: source) { pipeline in
            guard let tls else { return }
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
        }
    }

    /// Sends the bytes and reads one response.
    ///
    /// - Parameter look: receives the channel on its event loop after the response was read.
    func send(_ bytes: [UInt8], look: @escaping @Sendable (any Channel) -> Void = { _ in }) async throws -> Response {
        let connection = try await connect()
        // The response may arrive before the last byte is sent.
        connection.channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
        let received = await connection.receiveBytes { Self.parse($0) != nil }
        guard let response = Self.parse(received) else {
            try? await connection.channel.close()
            throw Failure.noResponse(String(decoding: received, as: UTF8.self))
        }
        try await connection.channel.eventLoop.submit { look(connection.channel) }.get()
        // With TLS the close would wait for the peer's, which may take seconds.
        connection.channel.close(promise: nil)
        return response
    }

    func send(_ text: String) async throws -> Response { try await send(Array(text.utf8)) }

    /// Returns the response if it is complete.
    static func parse(_ bytes: [UInt8]) -> Response? {
        guard let end = bytes.firstRange(of: [13, 10, 13, 10]) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        let fields = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
        }
        let length = fields.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        guard bytes.count - end.upperBound >= length else { return nil }
        return Response(
            status: status, fields: fields, body: Array(bytes[end.upperBound..<(end.upperBound + length)]))
    }
}

extension RawClient {
    /// Sends a well-formed call. The password defaults to the user name.
    func call(
        _ method: String, _ target: String, as user: String? = nil, password: String? = nil, token: String? = nil,
        body: String? = nil
    ) async throws -> Response {
        try await send(Self.request(method, target, as: user, password: password, token: token, body: body))
    }

    /// Returns the bytes of a well-formed call.
    static func request(
        _ method: String, _ target: String, as user: String? = nil, password: String? = nil, token: String? = nil,
        body: String? = nil
    ) -> String {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: gateway.test\r\n"
        if let user {
            let pair = Data("\(user):\(password ?? user)".utf8).base64EncodedString()
            head += "Authorization: Basic \(pair)\r\n"
        }
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
        return "\(head)\r\n\(body ?? "")"
    }

    /// Registers a device as the tutorial's clients do and returns the response to the second request.
    func register(
        _ user: String, _ platform: String, _ handle: String, tags: [String] = [], password: String? = nil
    ) async throws -> Response {
        let query = handle.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let reserved = try await call("POST", "/api/register?handle=\(query)", as: user, password: password)
        let id = reserved.text.dropFirst().dropLast()
        let list = tags.map { "\"\($0)\"" }.joined(separator: ",")
        return try await call(
            "PUT", "/api/register/\(id)", as: user, password: password,
            body: #"{"Platform":"\#(platform)","Handle":"\#(handle)","Tags":[\#(list)]}"#)
    }
}

extension RawClient {
    /// Registers at the backend directly, as the backend's own clients do.
    func registerDirectly(
        _ user: String, _ flavor: BackendFlavor, _ handle: String, id: String, tags: [String] = []
    ) async throws -> Response {
        let target = flavor == .core ? "/api/register?id=\(id)" : "/api/register/\(id)"
        let list = tags.map { "\"\($0)\"" }.joined(separator: ",")
        return try await call(
            "PUT", target, as: user, body: #"{"Platform":"apns","Handle":"\#(handle)","Tags":[\#(list)]}"#)
    }
}
