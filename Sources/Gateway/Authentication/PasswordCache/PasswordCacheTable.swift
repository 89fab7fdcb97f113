internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A bounded table of cached results, grouped by user so that a change of one user is applied quickly.
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

    private struct Entry {
        let digest: KeyedDigest
        let result: CachedResult
        let expiry: Int64
        // A unique number in order of writing, which distinguishes the entry from a later one with the same key.
        let number: UInt64
    }

    /// The lifetimes of an acceptance and of a rejection, in nanoseconds.
    static let acceptance: Int64 = 60_000_000_000
    static let rejection: Int64 = 600_000_000_000
    /// The maximum number of entries of one user, which bounds the search. The throttle admits fewer wrong passwords
    /// than this.
    private static let maximumPerUser = 256

    private var entries: [String: [Entry]] = [:]
    // The order of writing. Removed entries stay here until they reach the front.
    private var order = CircularBuffer<(user: String, number: UInt64)>()
    private var nextNumber: UInt64 = 0
    private let capacity: Int
    /// The number of entries.
    private(set) var count = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    func verdict(for key: PasswordCacheKey, now: Int64) -> CachedResult? {
        entries[key.user]?.first { $0.digest == key.digest && $0.expiry > now }?.result
    }

    /// Caches an acceptance. If it is not the renewal of a cached one, it discards the user's rejections, because the
    /// password may have changed.
    mutating func accept(_ identity: Identity, for key: PasswordCacheKey, now: Int64) {
        let confirms = entries[key.user]?.contains { $0.digest == key.digest && $0.result.isAcceptance } ?? false
        if !confirms { remove(of: key.user) { !$0.result.isAcceptance } }
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
    mutating func forget(_ user: UserName) { remove(of: user.text) { _ in true } }

    /// Removes all entries.
    mutating func forgetAll() {
        entries = [:]
        order.removeAll()
        count = 0
    }

    private mutating func write(_ result: CachedResult, for key: PasswordCacheKey, expiry: Int64) {
        remove(of: key.user) { $0.digest == key.digest }
        if let existing = entries[key.user], existing.count >= Self.maximumPerUser {
            // Evict the oldest rejection, so that wrong passwords do not displace the correct one.
            let number = (existing.first { !$0.result.isAcceptance } ?? existing[0]).number
            remove(of: key.user) { $0.number == number }
        }
        while count >= capacity, let oldest = order.popFirst() {
            remove(of: oldest.user) { $0.number == oldest.number }
        }
        nextNumber += 1
        entries[key.user, default: []].append(
            Entry(digest: key.digest, result: result, expiry: expiry, number: nextNumber))
        order.append((key.user, nextNumber))
        count += 1
        if order.count > 2 * capacity { compactOrder() }
    }

    private mutating func remove(of user: String, where matches: (Entry) -> Bool) {
        guard var remaining = entries[user] else { return }
        let before = remaining.count
        remaining.removeAll(where: matches)
        count -= before - remaining.count
        entries[user] = remaining.isEmpty ? nil : remaining
    }

    private mutating func compactOrder() {
        let live = Set(entries.values.joined().map(\.number))
        order = CircularBuffer(order.filter { live.contains($0.number) })
    }
}
