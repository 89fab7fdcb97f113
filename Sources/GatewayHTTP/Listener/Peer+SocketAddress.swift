package import GatewayCore
package import NIOCore

extension Peer {
    /// Creates the peer for a socket address; nil if its format is unknown.
    package init?(_ address: SocketAddress) {
        switch address {
        case .unixDomainSocket:
            self.init(address: .local, text: "unix")
        case .v4:
            // `sockaddr_in`: family and port, two bytes each, then the address.
            let bytes = Self.bytes(of: address)
            guard bytes.count >= 8 else { return nil }
            self.init(v4: UInt32(truncatingIfNeeded: Self.number(bytes[4..<8])))
        case .v6:
            // `sockaddr_in6`: family, port and flow label in eight bytes, then the address.
            let bytes = Self.bytes(of: address)
            guard bytes.count >= 24, let text = address.ipAddress else { return nil }
            self.init(v6: Self.number(bytes[8..<16]), Self.number(bytes[16..<24]), text: text)
        }
    }

    private init(v6 upper: UInt64, _ lower: UInt64, text: String) {
        // A dual-stack socket reports IPv4 clients as IPv4-mapped addresses (RFC 4291, section 2.5.5.2).
        if upper == 0, lower >> 32 == 0xFFFF {
            self.init(v4: UInt32(truncatingIfNeeded: lower))
        } else {
            self.init(address: .v6(upper, lower), text: text)
        }
    }

    /// Creates a peer from an IPv6 address. An IPv4-mapped address becomes IPv4.
    init?(v6 upper: UInt64, _ lower: UInt64) {
        var bytes = ByteBuffer()
        bytes.writeMultipleIntegers(upper, lower)
        guard let text = try? SocketAddress(packedIPAddress: bytes, port: 0).ipAddress else { return nil }
        self.init(v6: upper, lower, text: text)
    }

    /// Creates a peer from an IPv4 address.
    init(v4 number: UInt32) {
        self.init(
            address: .v4(number),
            text: "\(number >> 24).\(number >> 16 & 0xFF).\(number >> 8 & 0xFF).\(number & 0xFF)")
    }

    private static func bytes(of address: SocketAddress) -> [UInt8] {
        address.withSockAddr { pointer, size in Array(UnsafeRawBufferPointer(start: pointer, count: size)) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Whether the peer is on this machine: a loopback address or a Unix socket.
    var isThisMachine: Bool {
        switch address {
        case .local: true
        case .v4(let number): number >> 24 == 127
        case .v6(let upper, let lower): upper == 0 && lower == 1
        }
    }
}
