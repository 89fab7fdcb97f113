internal import Foundation
public import GatewayConfiguration
internal import GatewayHTTP
internal import NIOCore

/// An address that the gateway cannot listen on, described for an operator.
public struct ListenAddressError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The attempted operation, the address, the reason and the remedy.
    public let description: String

    init(_ description: String) { self.description = description }

    /// Creates the error of a failed bind(2).
    init(binding address: ListenAddress, code: CInt) {
        let reason =
            switch code {
            case EADDRINUSE: "address already in use; another process listens there (`ss -ltnp`)"
            case EADDRNOTAVAIL: "no interface of this machine has this address (`ip address`)"
            case EACCES, EPERM:
                "permission denied; a port below 1024 needs a socket unit or CAP_NET_BIND_SERVICE, a socket file a "
                    + "directory that this user may write"
            case EAFNOSUPPORT: "this machine has no IPv6"
            case ENOENT: "the directory of the socket does not exist"
            case let other: String(cString: strerror(other))
            }
        self.init("bind \(address): \(reason)")
    }

    /// Creates the error of a failed attempt to listen at the address.
    init(_ error: any Error, at address: ListenAddress) {
        switch error {
        case let fault as ListenAddressError: self = fault
        case let error as IOError: self.init(binding: address, code: error.errnoCode)
        case let error as ListenerError: self.init("bind \(address): \(error)")
        default: self.init("bind \(address): \(OperatorMessage.of(error))")
        }
    }
}

extension ListenAddress {
    /// Checks that the address is free: binds a socket to it and closes the socket. A start does so before it opens
    /// stores and other sockets.
    ///
    /// A Unix socket is not checked, because a socket file without a listener does not prevent a bind.
    ///
    /// - Throws: The reason why the address cannot be bound.
    public func requireFree() throws(ListenAddressError) {
        guard case .tcp(let host, let port) = self else { return }
        guard let address = try? SocketAddress(ipAddress: host, port: port) else { return }
        let isV6 = host.contains(":")
        let descriptor = socket(isV6 ? AF_INET6 : AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw ListenAddressError(binding: self, code: errno) }
        defer { close(descriptor) }
        var one: CInt = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        let isBound = address.withSockAddr { bind(descriptor, $0, socklen_t($1)) } == 0
        guard isBound else { throw ListenAddressError(binding: self, code: errno) }
    }
}

extension ServerConfiguration {
    /// Checks that every address is free, before anything is opened or logged. Addresses of passed sockets are not
    /// checked.
    ///
    /// - Throws: The reasons of all addresses that cannot be bound.
    func requireFreeAddresses(_ inherited: InheritedSockets) throws(ListenAddressError) {
        var sockets = inherited
        var addresses = listeners.map(\.address).filter { sockets.remove($0) == nil }
        addresses.append(admin)
        if let console { addresses.append(console.address) }
        for backend in backends where backend.address == .embedded {
            addresses.append(.tcp(host: "127.0.0.1", port: backend.embeddedPort))
        }
        var faults: [ListenAddressError] = []
        for address in addresses {
            do throws(ListenAddressError) { try address.requireFree() } catch { faults.append(error) }
        }
        if !faults.isEmpty { throw ListenAddressError(faults.map(\.description).joined(separator: "\n")) }
    }
}
