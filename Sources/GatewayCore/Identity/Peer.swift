/// The client of a connection, as known from the network.
public struct Peer: Sendable, Hashable, CustomStringConvertible {
    /// A network address.
    public enum Address: Sendable, Hashable {
        /// IPv4, four bytes in network order.
        case v4(UInt32)
        /// IPv6 as its upper and lower 64 bits. An IPv4-mapped address is `.v4`.
        case v6(UInt64, UInt64)
        /// A Unix domain socket: a process on this machine.
        case local
    }

    /// The address.
    public let address: Address
    /// The address as text for log and journal: `192.0.2.1`, `2001:db8::1`, `unix`.
    public let text: String

    /// Creates a peer. Called by the listener, and for an address that an operator names.
    public init(address: Address, text: String) {
        self.address = address
        self.text = text
    }

    /// The key of limits by address: an IPv4 address, or the /64 of an IPv6 address, because one host usually owns a
    /// whole /64.
    public var limitKey: Address {
        switch address {
        case .v4, .local: address
        case .v6(let upper, _): .v6(upper, 0)
        }
    }

    /// The gateway itself, for operations that no caller requested.
    public static let gateway = Peer(address: .local, text: "gateway")
    /// A client of the control socket.
    public static let control = Peer(address: .local, text: "control")

    /// The address as text.
    public var description: String { text }
    /// Compares addresses; the text follows from the address.
    public static func == (left: Peer, right: Peer) -> Bool { left.address == right.address }
    /// Hashes the address.
    public func hash(into hasher: inout Hasher) { hasher.combine(address) }
}
