internal import CPAM
internal import Foundation
internal import GatewayCore

/// What modules are told of where a login comes from (`PAM_RHOST`): always an address, since a name would be looked up.
enum RemoteHost {
    /// For peers on a Unix socket as well. With nothing there modules take a login for one at the machine's console, and trust
    /// that more than the network.
    static let thisMachine = "127.0.0.1"

    static func text(of peer: Peer) -> String {
        switch peer.address {
        case .local: thisMachine
        case .v4(let number): text(AF_INET, withUnsafeBytes(of: number.bigEndian) { Array($0) })
        case .v6(let upper, let lower):
            text(AF_INET6, [upper, lower].flatMap { half in withUnsafeBytes(of: half.bigEndian) { Array($0) } })
        }
    }

    /// Whether modules may be told this.
    static func isAddress(_ text: String) -> Bool {
        var bytes = in6_addr()
        return inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1
    }

    private static func text(_ family: CInt, _ address: [UInt8]) -> String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        // Fails for unknown families and short buffers only.
        guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return thisMachine }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
