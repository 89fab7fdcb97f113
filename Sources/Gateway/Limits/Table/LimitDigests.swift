internal import GatewayCore

/// Digests of names and addresses. Keyed, so that no client can construct colliding names: with random bits of the
/// process, or with a key that nodes share.
struct LimitDigests: Sendable {
    private let keyed: SipHash

    /// Creates digests of this process alone.
    init() { keyed = SipHash(key: (.random(in: .min ... .max), .random(in: .min ... .max))) }

    /// Creates digests with the first 16 bytes of a shared key.
    init(key: [UInt8]) {
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        keyed = SipHash(key: (word(key.prefix(8)), word(key.dropFirst(8).prefix(8))))
    }

    /// Returns the digest of a user name.
    func user(_ user: UserName) -> UInt64 { digest(1) { $0.combine(user.text) } }
    /// Returns the digest of an address.
    func address(_ address: Peer.Address) -> UInt64 {
        digest(2) { hash in
            switch address {
            case .local: hash.combine(0)
            case .v4(let number):
                hash.combine(4)
                hash.combine(UInt64(number))
            case .v6(let upper, let lower):
                hash.combine(6)
                hash.combine(upper)
                hash.combine(lower)
            }
        }
    }
    func group(_ group: GroupName) -> UInt32 {
        max(1, UInt32(truncatingIfNeeded: digest(3) { $0.combine(group.text) }))
    }
    /// Returns the digest of a limit, which does not depend on its rate.
    func limit(_ name: String, per keys: Set<Limit.Key>) -> UInt64 {
        digest(4) { hash in
            hash.combine(name)
            for key in keys.map(\.rawValue).sorted() { hash.combine(key) }
        }
    }
    /// Returns the digest of a table of failed logins.
    func throttle(_ name: String) -> UInt64 { digest(5) { $0.combine(name) } }

    @inline(__always) private func digest(_ kind: UInt64, _ feed: (inout SipHash) -> Void) -> UInt64 {
        var hash = keyed
        hash.combine(kind)
        feed(&hash)
        return max(1, hash.finalize())
    }
}
