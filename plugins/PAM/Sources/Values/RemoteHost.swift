internal import CPAM
internal import Foundation
internal import GatewayCore

/// The remote host that modules receive as `PAM_RHOST`: always an address, because modules would resolve a name.
enum RemoteHost {
    /// Also used for peers on a Unix socket. Without a remote host, modules treat a login as one at the console and
    /// trust it more than one from the network.
    static let thisMachine = "127.0.0.1"

    /// Returns the address of the peer as text; 127.0.0.1 for a peer on a Unix socket.
    static func text(of peer: Peer) -> String {
        switch peer.address {
        case .local: thisMachine
        case .v4(let number): text(AF_INET, withUnsafeBytes(of: number.bigEndian) { Array($0) })
        case .v6(let upper, let lower):
            text(AF_INET6, [upper, lower].flatMap { half in withUnsafeBytes(of: half.bigEndian) { Array($0) } })
        }
    }

    /// Whether the text is an address that modules may receive.
    static func isAddress(_ text: String) -> Bool {
        var bytes = in6_addr()
        return inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1
    }

    private static func text(_ family: CInt, _ address: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        // inet_ntop(3) fails only for unknown families and short buffers.
        guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return thisMachine }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
