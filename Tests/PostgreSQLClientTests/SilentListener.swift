import GatewayTesting
import Glibc

/// A TCP port of the loopback whose connections are opened, and never get a byte.
final class SilentListener {
    let port: Int
    private let listener: Int32

    init() throws {
        listener = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard status else { throw SystemTools.Failure(description: "no socket") }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    deinit { close(listener) }

    /// The number of connections since the last look.
    var accepted: Int {
        var count = 0
        while case let connection = accept(listener, nil, nil), connection >= 0 {
            close(connection)
            count += 1
        }
        return count
    }
}
