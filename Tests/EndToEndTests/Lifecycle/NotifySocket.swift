import Foundation

/// The socket on which a service manager receives the state of its services (sd_notify(3)).
final class NotifySocket: Sendable {
    let path: String
    private let descriptor: CInt

    struct Failure: Error {
        let code: CInt
    }

    init(in directory: String) throws {
        path = "\(directory)/notify.sock"
        descriptor = try Self.bound(to: path, SOCK_DGRAM)
        // The timeout makes a test fail instead of hang if no message arrives.
        var maximumWait = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &maximumWait, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// Returns a new socket that is bound to the path.
    static func bound(to path: String, _ type: __socket_type) throws -> CInt {
        let descriptor = socket(AF_UNIX, CInt(type.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard descriptor >= 0, isBound else { throw Failure(code: errno) }
        return descriptor
    }

    /// Returns the next message as its variables.
    func next() async throws -> [String: String] {
        try await Blocking.run { [descriptor] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { throw Failure(code: errno) }
            let lines = String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n")
            return Dictionary(
                lines.map { line in
                    let parts = line.split(separator: "=", maxSplits: 1)
                    return (String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
                }
            ) { first, _ in first }
        }
    }

    /// Returns the next message that contains the variable, and discards the others.
    func next(with name: String) async throws -> [String: String] {
        while true {
            let message = try await next()
            if message[name] != nil { return message }
        }
    }
}
