internal import CLibcrypto
public import GatewayCore
public import GatewaySupport

/// Issues tokens that this plug-in accepts. The authenticator and the command `tokens issue` use it.
public struct TokenSigner: Sendable {
    /// The reason why no token was issued.
    public enum Fault: Error, Sendable, Hashable, CustomStringConvertible {
        /// No key is valid now and allowed to issue tokens.
        case noKey
        /// The session has expired.
        case sessionOver
        /// The lifetime is not between 1 s and 7 d.
        case lifetime
        /// The `subjects` or `groups` of the key with this id exclude the token.
        case keyNotAuthorized(key: String)
        /// The token would be longer than 4 KiB.
        case tooLong
        /// libcrypto failed.
        case failed

        /// A sentence for the operator.
        public var description: String {
            switch self {
            case .noKey: "no key in the key file is valid now and allowed to issue tokens"
            case .sessionOver: "the session has expired"
            case .lifetime: "the lifetime must be from 1s to \(HMACTokenPlugin.maximumLifetime.configured)"
            case .keyNotAuthorized(let key): "the key \"\(key)\" may not sign for this user or these groups"
            case .tooLong: "the token would be longer than \(CompactToken.maximumLength) bytes"
            case .failed: "the system's libcrypto failed"
            }
        }
    }

    private let ring: KeyRing
    private let settings: HMACTokenPlugin.Settings

    /// Reads the key file. Blocks.
    ///
    /// - Parameter names: The rules by which the file names users.
    /// - Throws: `ConfigurationError` with every problem of the file.
    public init(_ settings: HMACTokenPlugin.Settings, names: NameRules = NameRules()) throws(ConfigurationError) {
        ring = try KeyRing(settings.keys, names: names)
        self.settings = settings
    }

    /// Creates a signer with the keys of a valid key file.
    init(_ ring: KeyRing, settings: HMACTokenPlugin.Settings) {
        self.ring = ring
        self.settings = settings
    }

    /// Issues a token, signed with the first key that is valid now and allowed to issue tokens.
    ///
    /// - Parameters:
    ///   - lifetime: whole seconds; nil for the configured lifetime. The token expires earlier if its key or its
    ///     session does.
    ///   - session: the session of the token; nil for a token without a session.
    public func issue(
        subject: UserName, groups: Set<GroupName> = [], lifetime: Duration? = nil, in session: Session? = nil,
        now: WallTime
    ) throws(Fault) -> IssuedToken {
        let seconds = (lifetime ?? settings.lifetime).components.seconds
        guard (1...HMACTokenPlugin.maximumLifetime.components.seconds).contains(seconds) else { throw .lifetime }
        guard let entry = ring.signingEntry(at: now) else { throw .noKey }
        guard entry.key.covers(subject, in: groups) else { throw .keyNotAuthorized(key: entry.key.id) }
        let keyEnd = min(now.seconds + seconds, entry.key.notAfter?.seconds ?? .max)
        guard keyEnd > now.seconds else { throw .noKey }
        let end = min(keyEnd, session?.ends.seconds ?? .max)
        guard end > now.seconds else { throw .sessionOver }
        let id = Self.newID()
        let header = JSONValue.object([
            .init("alg", .string(entry.key.algorithm.rawValue)), .init("kid", .string(entry.key.id)),
            .init("typ", .string("JWT")),
        ])
        var claims: [JSONValue.Member] = [
            .init("iss", .string(settings.issuer)), .init("aud", .string(settings.audience)),
            .init("sub", .string(subject.text)), .init("iat", .number(String(now.seconds))),
            .init("exp", .number(String(end))), .init("jti", .string(id)),
        ]
        if let session {
            // OpenID Connect Front-Channel Logout 1.0, section 3, and OpenID Connect Core 1.0, section 2.
            claims.append(.init("sid", .string(session.id.text)))
            claims.append(.init("auth_time", .number(String(session.began.seconds))))
        }
        if !groups.isEmpty {
            claims.append(.init("groups", .array(groups.map(\.text).sorted().map(JSONValue.string))))
        }
        var token = Base64.encode(JSONWriter.bytes(of: header), .url)
        token.append(UInt8(ascii: "."))
        token += Base64.encode(JSONWriter.bytes(of: .object(claims)), .url)
        guard let tag = entry.hmac.tag(over: token) else { throw .failed }
        token.append(UInt8(ascii: "."))
        token += Base64.encode(tag, .url)
        guard token.count <= CompactToken.maximumLength else { throw .tooLong }
        return IssuedToken(token: Secret(token), expires: WallTime(seconds: end), id: id, key: entry.key.id)
    }

    /// Returns 128 random bits in base64url.
    private static func newID() -> String { String(decoding: Base64.encode(RandomBytes.make(16), .url), as: UTF8.self) }
}
