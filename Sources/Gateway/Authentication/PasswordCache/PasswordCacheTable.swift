internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A bounded table of cached results. A change of one user is applied without a search through those of others.
struct PasswordCacheTable {
    enum CachedResult {
        case accepted(Identity)
        case rejected(InvalidCredentialReason, by: PluginName?)

        var isAcceptance: Bool {
            switch self {
            case .accepted: true
            case .rejected: false
            }
        }
    }

    private struct Cached {
        let result: CachedResult
        let expiry: Int64
    }

    /// The lifetimes of an acceptance and of a rejection, in nanoseconds.
    static let acceptance: Int64 = 60_000_000_000
    static let rejection: Int64 = 600_000_000_000
    /// The maximum number of entries of one user, which bounds the search for one to evict. The throttle admits fewer wrong passwords
    /// than this.
    private static let maximumPerUser = 256

    private var entries: BoundedMap<PasswordCacheKey, Cached>
    /// The number of entries.
    var count: Int { entries.count }

    init(capacity: Int) { entries = BoundedMap(capacity: capacity) }

    func result(for key: PasswordCacheKey, now: Int64) -> CachedResult? {
        guard let cached = entries[key], cached.expiry > now else { return nil }
        return cached.result
    }

    /// Caches an acceptance. If it is not the renewal of a cached one, it discards the user's rejections, because the
    /// password may have changed.
    mutating func accept(_ identity: Identity, for key: PasswordCacheKey, now: Int64) {
        let confirms = entries[key]?.result.isAcceptance ?? false
        if !confirms { entries.removeAll(of: key.user) { !$0.value.result.isAcceptance } }
        write(.accepted(identity), for: key, expiry: now + Self.acceptance)
    }

    /// Caches a rejection.
    ///
    /// - Parameter authenticator: The authenticator that rejected the credential.
    mutating func reject(
        _ reason: InvalidCredentialReason, by authenticator: PluginName? = nil, for key: PasswordCacheKey, now: Int64
    ) {
        write(.rejected(reason, by: authenticator), for: key, expiry: now + Self.rejection)
    }

    /// Removes all entries of one user.
    mutating func forget(_ user: UserName) { entries.removeAll(of: user.text) }

    /// Removes all entries.
    mutating func forgetAll() { entries.removeAll() }

    private mutating func write(_ result: CachedResult, for key: PasswordCacheKey, expiry: Int64) {
        if entries[key] == nil, entries.count(of: key.user) >= Self.maximumPerUser {
            // Evict the oldest rejection, so that wrong passwords do not displace the correct one.
            let rejection = entries.oldest(of: key.user) { !$0.value.result.isAcceptance }
            if let evicted = rejection ?? entries.oldest(of: key.user) { entries.remove(evicted.key) }
        }
        entries.insert(Cached(result: result, expiry: expiry), for: key)
    }
}
