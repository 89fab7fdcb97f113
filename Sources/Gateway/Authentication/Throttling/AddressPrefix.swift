internal import GatewayCore

/// A block of neighbouring addresses that share a throttle entry if the table is full: an IPv4 /24 or an IPv6 /48.
enum AddressPrefix: Hashable {
    case v4(UInt32)
    case v6(UInt64)
    case local

    init(_ address: Peer.Address) {
        self =
            switch address {
            case .v4(let address): .v4(address >> 8)
            case .v6(let upper, _): .v6(upper >> 16)
            case .local: .local
            }
    }
}
