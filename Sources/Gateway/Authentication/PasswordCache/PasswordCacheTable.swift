internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A bounded table of cached results. A change of one user is applied without a search through those of others.
struct PasswordCacheTable {
    enum CachedResult {
        case accepted(Identity)
        case rejected(InvalidCredentialReason, by: PluginName?)
        /// The authenticators gave no result. The charges are those of the first attempts with this password, one for each
        /// address.
        case undecided([LoginThrottle.Charge])

        var isAcceptance: Bool {
            switch self {
            case .accepted: true
            case .rejected, .undecided: false
            }
        }
    }

    private struct Cached {
        let result: CachedResult
        let expiry: Int64
    }

    /// The lifetimes of an acceptance and of a rejection, in nanoseconds.
    static let acceptanceLifetime: Int64 = 60_000_000_000
    static let rejectionLifetime: Int64 = 600_000_000_000
    /// The maximum number of entries of one user, which bounds the search for one to evict. The throttle admits fewer
    /// wrong passwords than this.
    private static let maximumPerUser = 256
    /// The maximum number of charges that are remembered for one password.
    private static let maximumCharges = 8

    private var entries: BoundedMap<PasswordCacheKey, Cached>
    /// The number of entries.
    var count: Int { entries.count }

    init(capacity: Int) { entries = BoundedMap(capacity: capacity) }

    /// Returns the cached result; nil if there is none or it has expired.
    func result(for key: PasswordCacheKey, now: Int64) -> CachedResult? {
        guard let cached = entries[key], cached.expiry > now else { return nil }
        return cached.result
    }

    /// Caches an acceptance. If it is not the renewal of a cached one, it discards the user's rejections, because the
    /// password may have changed.
    mutating func accept(_ identity: Identity, for key: PasswordCacheKey, now: Int64) {
        let confirms = entries[key]?.result.isAcceptance ?? false
        if !confirms { entries.removeAll(of: key.user) { !$0.value.result.isAcceptance } }
        write(.accepted(identity), for: key, expiry: now + Self.acceptanceLifetime)
    }

    /// Caches a rejection.
    ///
    /// - Parameter authenticator: The authenticator that rejected the credential.
    mutating func reject(
        _ reason: InvalidCredentialReason, by authenticator: PluginName? = nil, for key: PasswordCacheKey, now: Int64
    ) {
        write(.rejected(reason, by: authenticator), for: key, expiry: now + Self.rejectionLifetime)
    }

    /// Remembers the charge of a password without a result.
    mutating func remember(_ charge: LoginThrottle.Charge, for key: PasswordCacheKey, now: Int64) {
        var charges: [LoginThrottle.Charge] = []
        if case .undecided(let known) = result(for: key, now: now) {
            charges = known.filter { $0.address != charge.address }.suffix(Self.maximumCharges - 1)
        }
        write(.undecided(charges + [charge]), for: key, expiry: now + Self.rejectionLifetime)
    }

    /// Removes all entries of one user.
    mutating func removeAll(of user: UserName) { entries.removeAll(of: user.text) }

    /// Removes all entries.
    mutating func removeAll() { entries.removeAll() }

    private mutating func write(_ result: CachedResult, for key: PasswordCacheKey, expiry: Int64) {
        if entries[key] == nil, entries.count(of: key.user) >= Self.maximumPerUser {
            // Evict the oldest rejection, so that wrong passwords do not displace the correct one.
            let rejection = entries.oldest(of: key.user) { !$0.value.result.isAcceptance }
            if let evicted = rejection ?? entries.oldest(of: key.user) { entries.remove(evicted.key) }
        }
        entries.insert(Cached(result: result, expiry: expiry), for: key)
    }
}

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
