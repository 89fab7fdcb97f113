import Foundation
import NIOCore

/// A blocking connection for several calls. The time between a call and its response contains no scheduling of tasks.
final class KeptConnection {
    private let descriptor: CInt

    struct Failure: Error {
        let code: CInt
    }

    /// - Parameter source: the source address; the loopback interface accepts each address of 127.0.0.0/8.
    init(port: Int, from source: String = "127.0.0.1") throws {
        descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        let here = try SocketAddress(ipAddress: source, port: 0)
        let there = try SocketAddress(ipAddress: "127.0.0.1", port: port)
        guard here.withSockAddr({ bind(descriptor, $0, socklen_t($1)) }) == 0,
            there.withSockAddr({ connect(descriptor, $0, socklen_t($1)) }) == 0
        else { throw Failure(code: errno) }
        var on: CInt = 1
        setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
    }

    deinit { close(descriptor) }

    /// Sends a request and reads its response.
    func call(_ request: String) throws -> RawClient.Response {
        try write(request)
        return try response()
    }

    /// Sends a request.
    func write(_ request: String) throws {
        let bytes = Array(request.utf8)
        guard send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count else {
            throw Failure(code: errno)
        }
    }

    /// Reads a response.
    func response() throws -> RawClient.Response {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure(code: count < 0 ? errno : 0) }
            received += buffer[..<count]
            if let response = RawClient.parse(received) { return response }
        }
    }
}
