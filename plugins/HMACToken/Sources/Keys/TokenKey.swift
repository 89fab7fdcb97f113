public import GatewayCore
public import GatewaySupport

/// A key of the key file, with its validity period and the tokens that it may sign.
public struct TokenKey: Sendable {
    /// The key's id, the `kid` of its tokens: 1–64 of `A–Z a–z 0–9 . _ -`, unique in the file.
    public let id: String
    /// The one algorithm that the key signs and verifies with.
    public let algorithm: TokenAlgorithm
    /// The time from which the key is valid; nil for no lower bound.
    public let notBefore: WallTime?
    /// The time from which the key is no longer valid; nil for no upper bound.
    public internal(set) var notAfter: WallTime?
    /// The users that its tokens may name; nil for any user.
    public let subjects: [SubjectPattern]?
    /// The groups that its tokens may claim; nil for any, empty for none.
    public let groups: Set<GroupName>?
    /// Whether new tokens may be signed with the key. If false, the key only verifies.
    public let mayIssueTokens: Bool

    let secret: Secret

    /// Whether the key is valid at the given time. No clock skew applies, so a retired key stops at its `notAfter`
    /// exactly.
    public func isValid(at now: WallTime) -> Bool {
        if let notBefore, now < notBefore { return false }
        if let notAfter, now >= notAfter { return false }
        return true
    }

    /// Whether the key may sign for this user in these groups.
    func covers(_ user: UserName, in claimed: Set<GroupName>) -> Bool {
        if let subjects, !subjects.contains(where: { $0.matches(user) }) { return false }
        if let groups, !claimed.isSubset(of: groups) { return false }
        return true
    }

    /// Whether the key accepts and signs what another version of it does. A key that was retired since does.
    func isEqual(to former: TokenKey) -> Bool {
        algorithm == former.algorithm && notBefore == former.notBefore && subjects == former.subjects
            && groups == former.groups && mayIssueTokens == former.mayIssueTokens
            && (former.notAfter == nil || notAfter == former.notAfter) && secret.isEqual(to: former.secret)
    }

    /// Whether the text is a valid key id.
    static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

/// The accepted signature algorithms (RFC 7518, section 3.2). Each key has exactly one.
public enum TokenAlgorithm: String, Sendable, CaseIterable {
    /// HMAC with SHA-256, keys of at least 32 bytes.
    case hs256 = "HS256"
    /// HMAC with SHA-384, keys of at least 48 bytes.
    case hs384 = "HS384"
    /// HMAC with SHA-512, keys of at least 64 bytes.
    case hs512 = "HS512"

    /// The hash function of the HMAC.
    var digest: HMAC.Algorithm {
        switch self {
        case .hs256: .sha256
        case .hs384: .sha384
        case .hs512: .sha512
        }
    }

    /// The minimum length of a secret in bytes, and the length of a generated one.
    var keyByteCount: Int { digest.byteCount }
}

/// The state of a key at a moment.
public enum TokenKeyStatus: String, Sendable, CaseIterable {
    /// The key signs new tokens and verifies tokens.
    case signs
    /// The key verifies tokens but does not sign.
    case verifies
    /// The key's `not-before` is in the future.
    case pending
    /// The key's `not-after` has passed.
    case expired
}

extension TokenKeysFile {
    /// Returns the key that signs at the given time: the first in the file that is valid and allowed to issue tokens.
    public func signingKey(at now: WallTime) -> TokenKey? { keys.signing(at: now) }

    /// Returns the state of each key, in the order of the file.
    public func statuses(at now: WallTime) -> [(key: TokenKey, status: TokenKeyStatus)] {
        let signing = signingKey(at: now)?.id
        return keys.map { key in
            if key.isValid(at: now) { return (key, key.id == signing ? .signs : .verifies) }
            return (key, key.notBefore.map { now < $0 } == true ? .pending : .expired)
        }
    }
}

extension Sequence<TokenKey> {
    /// Returns the key that signs: the first that is valid and allowed to issue tokens.
    func signing(at now: WallTime) -> TokenKey? { first { $0.mayIssueTokens && $0.isValid(at: now) } }
}

/// A pattern for the users that a key may sign for: one name, or the beginning of names followed by `*`, in any spelling.
public struct SubjectPattern: Sendable, Hashable, CustomStringConvertible {
    private let text: String
    private let names: NameRules
    /// The name or its beginning, without escapes.
    private let start: [UInt8]
    private let isOpen: Bool

    /// Parses the pattern, or returns nil if the text is not one.
    public init?(_ text: String, names: NameRules) {
        self.text = text
        self.names = names
        isOpen = text.hasSuffix("*")
        let name = isOpen ? String(text.dropLast()) : text
        let start = isOpen ? names.unescaped(part: name) : names.user(PresentedName(name)).map(names.unescaped)
        guard let start, !name.contains("*") else { return nil }
        self.start = start
    }

    /// Whether the pattern matches the name.
    public func matches(_ user: UserName) -> Bool {
        let name = names.unescaped(user)
        return isOpen ? name.starts(with: start) : name == start
    }

    /// The pattern as written in the key file.
    public var description: String { text }
}
