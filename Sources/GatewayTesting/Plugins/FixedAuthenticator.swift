public import GatewayCore
internal import Synchronization

/// An authenticator over a fixed list: passwords by login name, and tokens. Counts how often it was asked.
public final class FixedAuthenticator: Authenticator {
    /// What every identity says of who vouches for it.
    public static let name: PluginName = "fixed"

    private let passwords: [String: String]
    private let tokens: [String: String]
    private let groups: [String: Set<GroupName>]
    private let names: NameRules
    private let asked = Mutex(0)

    /// An authenticator.
    ///
    /// - Parameters:
    ///   - passwords: by login name.
    ///   - tokens: the login name behind each bearer token.
    ///   - groups: by canonical name.
    ///   - names: how a login name becomes canonical.
    public init(
        passwords: [String: String], tokens: [String: String] = [:], groups: [String: Set<GroupName>] = [:],
        names: NameRules = NameRules()
    ) {
        self.passwords = passwords
        self.tokens = tokens
        self.groups = groups
        self.names = names
    }

    /// How many credentials it judged.
    public var timesAsked: Int { asked.withLock { $0 } }

    /// Accepts what is on the list.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        asked.withLock { $0 += 1 }
        switch credential {
        case .password(let user, let password):
            guard let expected = passwords[user.text], password.isEqual(to: Secret(expected.utf8)) else {
                return .rejected(.wrong)
            }
            return accepted(user.text)
        case .bearer(let token):
            let text = token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            return tokens[text].map(accepted) ?? .rejected(.untrusted)
        }
    }

    private func accepted(_ login: String) -> AuthenticationOutcome {
        guard let user = names.canonical(login) else { return .rejected(.unmapped) }
        return .accepted(Identity(user: user, groups: groups[user.text] ?? [], authenticator: Self.name))
    }
}

/// An authenticator that says whatever the test says.
public struct ScriptedAuthenticator: Authenticator {
    private let answer: @Sendable (Credential, Peer) async -> AuthenticationOutcome

    /// An authenticator that answers by a closure.
    public init(_ answer: @escaping @Sendable (Credential, Peer) async -> AuthenticationOutcome) {
        self.answer = answer
    }

    /// An authenticator that says the same to everybody, such as `.unavailable(.failed)`.
    public init(always outcome: AuthenticationOutcome) { answer = { _, _ in outcome } }

    /// Asks the closure.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        await answer(credential, peer)
    }
}
