internal import GatewayCore
internal import GatewaySupport

/// The key of a cached result. It does not reveal the password.
struct PasswordCacheKey: Hashable {
    /// The canonical user name. A name without canonical form is stored unchanged after a NUL, which no canonical name
    /// contains.
    let user: String
    /// A keyed digest of everything that the result may depend on.
    let digest: KeyedDigest

    static func user(_ user: UserName?, login: LoginName) -> String { user?.text ?? "\0" + login.text }
}

extension Peer {
    /// The bytes of the address. Local, IPv4 and IPv6 addresses have different lengths.
    var keyBytes: [UInt8] {
        switch address {
        case .local: [0]
        case .v4(let address): withUnsafeBytes(of: address.bigEndian) { Array($0) }
        case .v6(let upper, let lower):
            withUnsafeBytes(of: upper.bigEndian) { Array($0) } + withUnsafeBytes(of: lower.bigEndian) { Array($0) }
        }
    }
}
