import Foundation
import NIOCore
import NIOPosix

/// An HTTP client that sends exactly the bytes it is given, one connection each.
struct RawClient {
    private let address: SocketAddress

    /// A client of what listens on this machine.
    init(port: Int) throws { address = try SocketAddress(ipAddress: "127.0.0.1", port: port) }

    /// A client of what listens on a Unix socket.
    init(socket path: String) throws { address = try SocketAddress(unixDomainSocketPath: path) }

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

    /// Sends the bytes and reads one response.
    func send(_ bytes: [UInt8]) async throws -> Response {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(to: address) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            try await outbound.write(ByteBuffer(bytes: bytes))
            var received: [UInt8] = []
            for try await buffer in inbound {
                received += buffer.readableBytesView
                if let response = Self.parse(received) { return response }
            }
            throw Failure.noResponse(String(decoding: received, as: UTF8.self))
        }
    }

    func send(_ text: String) async throws -> Response { try await send(Array(text.utf8)) }

    /// The response, once it is complete.
    private static func parse(_ bytes: [UInt8]) -> Response? {
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
    /// A call as any client could write it.
    func call(
        _ method: String, _ target: String, as user: String? = nil, token: String? = nil, body: String? = nil
    ) async throws -> Response {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: gateway.test\r\n"
        if let user {
            head += "Authorization: Basic \(Data("\(user):\(user)".utf8).base64EncodedString())\r\n"
        }
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
        return try await send("\(head)\r\n\(body ?? "")")
    }

    /// Registers a device as the tutorial's clients do, and says how the second call went.
    func register(
        _ user: String, _ platform: String, _ handle: String, tags: [String] = []
    ) async throws -> Response {
        let query = handle.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let reserved = try await call("POST", "/api/register?handle=\(query)", as: user)
        let id = reserved.text.dropFirst().dropLast()
        let list = tags.map { "\"\($0)\"" }.joined(separator: ",")
        return try await call(
            "PUT", "/api/register/\(id)", as: user,
            body: #"{"Platform":"\#(platform)","Handle":"\#(handle)","Tags":[\#(list)]}"#)
    }
}
