import Foundation

/// A single `GET /health/ready` request on a new connection.
enum HealthCheck {
    /// Returns whether the gateway with this admin port on 127.0.0.1 reports that it is ready.
    static func isReady(port: Int) -> Bool {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = LoopbackAddress.make(port: port)
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { return false }
        let question = Array("GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        guard send(descriptor, question, question.count, CInt(MSG_NOSIGNAL)) == question.count else { return false }
        var response = [UInt8](repeating: 0, count: 64)
        return recv(descriptor, &response, response.count, 0) > 12 && response.starts(with: "HTTP/1.1 200".utf8)
    }
}

/// Addresses on 127.0.0.1.
enum LoopbackAddress {
    static func make(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    /// Returns a port that no process uses at the moment.
    static func freePort() -> Int {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = make(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                guard bind(descriptor, $0, length) == 0, getsockname(descriptor, $0, &length) == 0 else { return }
            }
            return Int(UInt16(bigEndian: pointer.pointee.sin_port))
        }
    }
}
