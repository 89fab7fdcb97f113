import NIOCore

extension SocketAddress {
    /// Whether this is an address of this machine: in 127.0.0.0/8, or ::1.
    var isLoopback: Bool {
        switch self {
        case .v4: ipAddress?.hasPrefix("127.") == true
        case .v6: ipAddress == "::1"
        case .unixDomainSocket: false
        }
    }
}
