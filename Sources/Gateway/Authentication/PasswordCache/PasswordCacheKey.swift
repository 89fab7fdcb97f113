internal import GatewayCore
internal import GatewaySupport

/// The key of a cached result. It does not reveal the password.
struct PasswordCacheKey: OwnedKey {
    /// The canonical user name, or ``unmapped``.
    let user: String
    /// A keyed digest of everything that the result may depend on, including the login name.
    let digest: KeyedDigest

    var owner: String { user }

    /// The user of all names without canonical form. No canonical name contains a NUL.
    ///
    /// These names may be as long as a header field, and no user has one. As one user they share the entries of one
    /// user, so that the cache does not hold such names of clients without a login.
    static let unmapped = "\0"

    init(user: UserName?, digest: KeyedDigest) {
        self.user = user?.text ?? Self.unmapped
        self.digest = digest
    }
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
