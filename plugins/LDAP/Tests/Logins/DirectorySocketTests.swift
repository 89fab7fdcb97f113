import GatewaySupport
import GatewayTesting
import Glibc
import Testing

@testable import LDAP

@Suite("Connections to the addresses of a directory server", .timeLimit(.minutes(1)))
struct DirectorySocketTests {
    /// A listening socket on 127.0.0.1, which accepts nothing by itself.
    private final class Listener {
        let port: UInt16
        private let descriptor: Int32
        private var others: [Int32] = []

        /// - Parameter isFull: Whether the queue is full, so that the kernel drops further requests, as a host does that is
        ///   switched off.
        init(isFull: Bool = false) throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = descriptor
            let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
                }
            }
            port = UInt16(bigEndian: address.sin_port)
            guard isBound, listen(descriptor, isFull ? 0 : 16) == 0 else {
                throw SystemTools.Failure(description: "no socket")
            }
            guard isFull else { return }
            for _ in 0..<4 {
                let other = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
                others.append(other)
                _ = self.address.withSocketAddress { connect(other, $0, $1) }
            }
        }

        var address: HostAddress { HostAddress.resolve("127.0.0.1", port: port)[0] }

        func close() {
            for descriptor in others + [descriptor] { Glibc.close(descriptor) }
            others = []
        }
    }

    /// Returns the port of the address that a connection was made to.
    private func port(_ addresses: [HostAddress], timeout: Int64 = 20_000) throws -> UInt16 {
        let descriptor = try DirectorySocket.race(addresses, timeout: timeout)
        defer { close(descriptor) }
        #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0 && fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
        var peer = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &peer) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        #expect(status == 0)
        return UInt16(bigEndian: peer.sin_port)
    }

    @Test("An address that drops packets or refuses leads to the next one, and the first that accepts is used")
    func next() throws {
        let (silent, live, other) = (try Listener(isFull: true), try Listener(), try Listener())
        let refusing = try Listener()
        refusing.close()
        #expect(try port([silent.address, live.address]) == live.port)
        #expect(try port([refusing.address, live.address]) == live.port)
        #expect(try port([silent.address, refusing.address, silent.address, live.address]) == live.port)
        #expect(try port([live.address, other.address, silent.address]) == live.port)
        #expect(try port([other.address]) == other.port)
        for listener in [silent, live, other] { listener.close() }
    }

    @Test("Without an address that accepts, the failure says why, within the timeout")
    func none() throws {
        let silent = try Listener(isFull: true)
        let refusing = try Listener()
        refusing.close()
        #expect(throws: DirectorySocket.Failure.unknownHost) { try DirectorySocket.race([], timeout: 1000) }
        #expect(throws: DirectorySocket.Failure.refused(ECONNREFUSED)) {
            try DirectorySocket.race([refusing.address, refusing.address], timeout: 1000)
        }
        #expect(throws: DirectorySocket.Failure.timedOut) { try DirectorySocket.race([silent.address], timeout: 100) }
        #expect(throws: DirectorySocket.Failure.timedOut) {
            try DirectorySocket.race([silent.address, silent.address, silent.address], timeout: 600)
        }
        let long = "/" + String(repeating: "a", count: 200)
        #expect(throws: DirectorySocket.Failure.refused(ENAMETOOLONG)) {
            try DirectorySocket.connect(to: .unix(long), timeout: 1000)
        }
        #expect(throws: DirectorySocket.Failure.refused(ENOENT)) {
            try DirectorySocket.connect(to: .unix("/nonexistent/ldapi"), timeout: 1000)
        }
        silent.close()
    }
}
