internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The logins at the identity provider that have begun and are not completed, in memory.
///
/// Safe to use from any thread; each function holds the lock for a few instructions.
final class PendingLogins: Sendable {
    /// The time within which a login must be completed.
    static let lifetime = Duration.seconds(600)
    /// The maximum number of logins. A further one replaces the oldest.
    static let maximum = 1000
    /// The maximum number of logins of an address. A further one replaces the oldest of them, so that one address cannot
    /// replace the logins of all others.
    static let maximumOfAddress = 100

    /// The purpose of a login.
    enum Purpose: Sendable, Hashable {
        /// A session begins.
        case session
        /// The user of an open session proves again who they are, not before this time.
        case proof(of: SHA256.Digest, since: WallTime)
    }

    /// A login in progress.
    struct Login: Sendable {
        let purpose: Purpose
        /// The page of the console after the login.
        let next: String
        let redirectURI: String
        let nonce: String
        /// The text whose digest the provider got (`code_verifier`, RFC 7636).
        let verifier: Secret
        /// The revocation epoch at the beginning.
        let epoch: RevocationEpoch
        /// The digest of the browser's cookie.
        fileprivate let cookie: SHA256.Digest
        fileprivate let began: MonotonicInstant
    }

    /// A login that has begun.
    struct Beginning: Sendable {
        let request: BrowserLoginRequest
        /// The value of the cookie that binds the login to the browser.
        let cookie: String
    }

    private struct Key: OwnedKey {
        /// A digest of the state, so that no copy of the table contains a usable state.
        let state: SHA256.Digest
        let owner: Peer.Address

        // The state alone identifies a login: the address of the browser may change before it returns.
        static func == (left: Key, right: Key) -> Bool { left.state == right.state }
        func hash(into hasher: inout Hasher) { hasher.combine(state) }
    }

    private let table = Mutex(BoundedMap<Key, Login>(capacity: maximum))
    private let clocks: Clocks

    init(clocks: Clocks) { self.clocks = clocks }

    /// Begins a login; nil if libcrypto fails.
    func begin(
        _ purpose: Purpose, next: String, redirectURI: String, epoch: RevocationEpoch, from peer: Peer
    ) -> Beginning? {
        let (state, cookie, nonce, verifier) = (
            RandomText.make(), RandomText.make(), RandomText.make(), RandomText.make()
        )
        guard let key = Self.digest(state), let cookieDigest = Self.digest(cookie),
            let challenge = Self.digest(verifier)
        else { return nil }
        let login = Login(
            purpose: purpose, next: next, redirectURI: redirectURI, nonce: nonce, verifier: Secret(verifier.utf8),
            epoch: epoch, cookie: cookieDigest, began: clocks.sinceBoot())
        table.withLock { table in
            let owner = peer.limitKey
            if table.count(of: owner) >= Self.maximumOfAddress, let oldest = table.oldest(of: owner) {
                table.remove(oldest.key)
            }
            table.insert(login, for: Key(state: key, owner: owner))
        }
        let requiresNewProof = if case .proof = purpose { true } else { false }
        let request = BrowserLoginRequest(
            redirectURI: redirectURI, state: state, nonce: nonce,
            codeChallenge: String(decoding: Base64.encode(challenge.bytes, .url), as: UTF8.self),
            requiresNewProof: requiresNewProof)
        return Beginning(request: request, cookie: cookie)
    }

    /// Removes a login and returns it; nil if there is none, it is too old, or it began in another browser.
    ///
    /// A login is removed also if the cookie does not match, so that a state is used once.
    func remove(state: String, cookie: String) -> Login? {
        guard let digest = Self.digest(state) else { return nil }
        let now = clocks.sinceBoot()
        let login = table.withLock { table -> Login? in
            // Any address: it is no part of the comparison.
            let key = Key(state: digest, owner: .local)
            guard let entry = table.entry(for: key) else { return nil }
            table.remove(entry.key)
            return entry.value
        }
        guard let login, now.nanoseconds - login.began.nanoseconds < Self.lifetime.nanoseconds,
            let cookie = Self.digest(cookie), ConstantTime.equal(login.cookie.bytes, cookie.bytes)
        else { return nil }
        return login
    }

    /// The number of logins in progress.
    var count: Int { table.withLock(\.count) }

    private static func digest(_ text: String) -> SHA256.Digest? {
        guard text.utf8.count == RandomText.length else { return nil }
        return Array(text.utf8).withUnsafeBytes { SHA256.Digest(of: $0) }
    }
}
