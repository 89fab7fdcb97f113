/// Who is at the other end of a connection, as far as the network says.
public struct Peer: Sendable, Hashable, CustomStringConvertible {
    /// The peer's address.
    public enum Address: Sendable, Hashable {
        /// IPv4, four bytes in network order.
        case v4(UInt32)
        /// IPv6 as its upper and lower 64 bits. An IPv4-mapped address is `.v4`.
        case v6(UInt64, UInt64)
        /// A Unix domain socket: somebody on this machine.
        case local
    }

    /// The address.
    public let address: Address
    /// The address as text, for log and journal: `192.0.2.1`, `2001:db8::1`, `unix`.
    public let text: String

    /// Puts a peer together; the listener does.
    public init(address: Address, text: String) {
        self.address = address
        self.text = text
    }

    /// What limits by address count: an IPv4 address, or the /64 of an IPv6 address, since a host owns all of that.
    public var limitKey: Address {
        switch address {
        case .v4, .local: address
        case .v6(let upper, _): .v6(upper, 0)
        }
    }

    /// The gateway itself, where no caller asked for what it does.
    public static let gateway = Peer(address: .local, text: "gateway")
    /// Somebody at the control socket.
    public static let control = Peer(address: .local, text: "control")

    /// The address as text.
    public var description: String { text }
    /// By address; the text follows from it.
    public static func == (left: Peer, right: Peer) -> Bool { left.address == right.address }
    /// By address.
    public func hash(into hasher: inout Hasher) { hasher.combine(address) }
}
