internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A range of IP addresses in CIDR notation (RFC 4632), a single address, or `unix` for all clients of a Unix socket.
public struct AddressRange: Sendable, Hashable, CustomStringConvertible {
    private enum Members: Sendable, Hashable {
        case v4(UInt32, prefix: Int)
        case v6(UInt64, UInt64, prefix: Int)
        case local
    }

    private let members: Members
    /// The range as written in the configuration.
    public let description: String

    /// Parses `10.0.0.0/8`, `192.0.2.1`, `2001:db8::/32` or `unix`. Returns nil for any other text, and for a range
    /// with host bits set.
    public init?(_ text: String) {
        description = text
        if text == "unix" {
            members = .local
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let peer = Peer(ipAddress: String(parts[0])) else { return nil }
        let length = parts.count == 2 ? Self.length(parts[1]) : 128
        guard let length else { return nil }
        switch peer.address {
        case .v4(let address):
            let prefix = parts.count == 2 ? length : 32
            guard prefix <= 32, address & Self.mask(prefix) == address else { return nil }
            members = .v4(address, prefix: prefix)
        case .v6(let upper, let lower):
            guard length <= 128, Self.masked(upper, lower, length) == (upper, lower) else { return nil }
            members = .v6(upper, lower, prefix: length)
        case .local:
            return nil
        }
    }

    /// Returns whether the address is in the range. An IPv4-mapped IPv6 address counts as IPv4.
    func contains(_ address: Peer.Address) -> Bool {
        switch (members, address) {
        case (.v4(let network, let prefix), .v4(let address)):
            address & Self.mask(prefix) == network
        case (.v6(let upper, let lower, let prefix), .v6(let otherUpper, let otherLower)):
            Self.masked(otherUpper, otherLower, prefix) == (upper, lower)
        case (.local, .local):
            true
        case (.v4, _), (.v6, _), (.local, _):
            false
        }
    }

    private static func length(_ text: Substring) -> Int? {
        guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int(text)
    }

    private static func mask(_ prefix: Int) -> UInt32 { prefix == 0 ? 0 : ~0 << UInt32(32 - prefix) }

    private static func masked(_ upper: UInt64, _ lower: UInt64, _ prefix: Int) -> (UInt64, UInt64) {
        func mask(_ bits: Int) -> UInt64 { bits <= 0 ? 0 : bits >= 64 ? ~0 : ~0 << UInt64(64 - bits) }
        return (upper & mask(prefix), lower & mask(prefix - 64))
    }
}

extension Peer {
    /// Creates a peer from an IP address without brackets, port or zone; nil for any other text.
    init?(ipAddress text: String) {
        // The longest form is an IPv4-mapped IPv6 address. The system's parser would stop at a NUL.
        guard text.utf8.count <= 45, !text.utf8.contains(UInt8(ascii: "%")), !text.utf8.contains(0),
            let address = try? SocketAddress(ipAddress: text, port: 0)
        else { return nil }
        self.init(address)
    }
}
