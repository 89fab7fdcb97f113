internal import GatewayCore

/// The neighbourhood of an address, which strangers share where there is no room for each: an IPv4 /24, an IPv6 /48.
enum AddressBlock: Hashable {
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
