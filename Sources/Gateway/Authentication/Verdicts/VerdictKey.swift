internal import GatewayCore

/// What a verdict is remembered under: nothing in it tells the password.
struct VerdictKey: Hashable {
    /// Whose verdict it is. A name without canonical form stands as it was typed, after a NUL that no name has.
    let user: String
    /// 16 bytes of a keyed digest over everything that the verdict may depend on.
    let digest: KeyedDigest

    static func user(_ user: UserName?, login: LoginName) -> String { user?.text ?? "\0" + login.text }
}

extension Peer {
    /// The address in bytes, each kind of another length.
    var keyBytes: [UInt8] {
        switch address {
        case .local: [0]
        case .v4(let address): withUnsafeBytes(of: address.bigEndian) { Array($0) }
        case .v6(let upper, let lower):
            withUnsafeBytes(of: upper.bigEndian) { Array($0) } + withUnsafeBytes(of: lower.bigEndian) { Array($0) }
        }
    }
}
