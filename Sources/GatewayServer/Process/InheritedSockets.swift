internal import Foundation
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewaySupport

/// The listening sockets that the service manager passes to the gateway and keeps open during a restart. They start at
/// descriptor 3, as sd_listen_fds(3) describes. Each belongs to the listener with its address.
struct InheritedSockets {
    private var sockets: [(address: ListenAddress, descriptor: CInt)] = []

    private static let first: CInt = 3

    /// Takes over the sockets that the environment announces.
    ///
    /// - Throws: `ConfigurationError` for a descriptor that is not a listening stream socket.
    init(environment: [String: String]) throws(ConfigurationError) {
        guard environment["LISTEN_PID"] == String(getpid()),
            let count = environment["LISTEN_FDS"].flatMap({ CInt($0) }), count > 0, count < 1024
        else { return }
        // Programs that the gateway starts must not inherit the variables.
        for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"] { unsetenv(name) }
        for descriptor in Self.first..<(Self.first + count) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            guard Self.isListening(descriptor), let address = Self.address(of: descriptor) else {
                throw ConfigurationError(
                    file: "LISTEN_FDS", "descriptor \(descriptor) is not a listening stream socket")
            }
            sockets.append((address, descriptor))
        }
    }

    /// Returns the socket for a listener, if one was passed. Each is returned once.
    mutating func remove(_ address: ListenAddress) -> CInt? {
        let index = sockets.firstIndex { $0.address.normalized == address.normalized }
        return index.map { sockets.remove(at: $0).descriptor }
    }

    /// Throws if a socket belongs to no listener, because connections to it would wait forever.
    func requireAllUsed() throws(ConfigurationError) {
        if sockets.isEmpty { return }
        let addresses = sockets.map(\.address.description).joined(separator: ", ")
        throw ConfigurationError(
            file: "LISTEN_FDS",
            "the service manager passed sockets for addresses without a listener in the configuration: \(addresses)")
    }

    private static func isListening(_ descriptor: CInt) -> Bool {
        option(SO_ACCEPTCONN, of: descriptor) == 1 && option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
    }

    private static func option(_ name: CInt, of descriptor: CInt) -> CInt? {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }

    private static func address(of descriptor: CInt) -> ListenAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isKnown = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) == 0 }
        }
        guard isKnown else { return nil }
        // The structure of each address family is at the start of the storage, which is large enough for all.
        return withUnsafeBytes(of: storage) { bytes in
            switch CInt(storage.ss_family) {
            case AF_INET:
                let address = bytes.load(as: sockaddr_in.self)
                return .tcp(host: text(AF_INET, address.sin_addr), port: Int(UInt16(bigEndian: address.sin_port)))
            case AF_INET6:
                let address = bytes.load(as: sockaddr_in6.self)
                return .tcp(host: text(AF_INET6, address.sin6_addr), port: Int(UInt16(bigEndian: address.sin6_port)))
            case AF_UNIX:
                let path = bytes[MemoryLayout<sa_family_t>.size..<Int(length)].prefix { $0 != 0 }
                return path.isEmpty ? nil : .unix(path: String(decoding: path, as: UTF8.self))
            default:
                return nil
            }
        }
    }

    fileprivate static func text<Address>(_ family: CInt, _ address: Address) -> String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let isText = withUnsafePointer(to: address) {
            inet_ntop(family, $0, &buffer, socklen_t(INET6_ADDRSTRLEN)) != nil
        }
        guard isText else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension ListenAddress {
    /// The address in its canonical spelling.
    fileprivate var normalized: ListenAddress {
        guard case .tcp(let host, let port) = self else { return self }
        var v4 = in_addr()
        if inet_pton(AF_INET, host, &v4) == 1 { return .tcp(host: InheritedSockets.text(AF_INET, v4), port: port) }
        var v6 = in6_addr()
        if inet_pton(AF_INET6, host, &v6) == 1 { return .tcp(host: InheritedSockets.text(AF_INET6, v6), port: port) }
        return self
    }
}
