public import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// An authenticator with fixed passwords by login name, and fixed tokens. Counts its calls.
public final class FixedAuthenticator: Authenticator {
    /// The authenticator's name, which its identities carry.
    public static let name: PluginName = "fixed"

    private let passwords: [String: String]
    private let tokens: [String: String]
    private let groups: [String: Set<GroupName>]
    private let names: NameRules
    private let calls = Mutex(0)

    /// Creates an authenticator.
    ///
    /// - Parameters:
    ///   - passwords: the passwords by login name.
    ///   - tokens: the login names by bearer token.
    ///   - groups: the groups by canonical name.
    ///   - names: the rules that make a login name canonical.
    public init(
        passwords: [String: String], tokens: [String: String] = [:], groups: [String: Set<GroupName>] = [:],
        names: NameRules = NameRules()
    ) {
        self.passwords = passwords
        self.tokens = tokens
        self.groups = groups
        self.names = names
    }

    /// The number of calls of `authenticate`.
    public var verificationCount: Int { calls.withLock { $0 } }

    /// Accepts the fixed passwords and tokens.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        calls.withLock { $0 += 1 }
        switch credential {
        case .password(let user, let password):
            guard let expected = passwords[user.text], password.isEqual(to: Secret(expected.utf8)) else {
                return .rejected(.wrong)
            }
            return accepted(user.text)
        case .bearer(let token):
            let text = token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            return tokens[text].map(accepted) ?? .rejected(.untrusted)
        case .certificate(let certificate):
            return certificate.commonNames.first.map(accepted) ?? .rejected(.unmapped)
        }
    }

    private func accepted(_ login: String) -> AuthenticationOutcome {
        guard let user = names.canonical(LoginName(login)) else { return .rejected(.unmapped) }
        return .accepted(Identity(user: user, groups: groups[user.text] ?? [], authenticator: Self.name))
    }
}

/// An authenticator whose outcomes the test decides.
public struct ScriptedAuthenticator: Authenticator {
    private let response: @Sendable (Credential, Peer) async -> AuthenticationOutcome

    /// Creates an authenticator that calls a closure.
    public init(_ response: @escaping @Sendable (Credential, Peer) async -> AuthenticationOutcome) {
        self.response = response
    }

    /// Creates an authenticator with one outcome for every credential, such as `.unavailable(.failed)`.
    public init(always outcome: AuthenticationOutcome) { response = { _, _ in outcome } }

    /// Calls the closure.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        await response(credential, peer)
    }
}

/// An authenticator that suspends its callers until the test provides an outcome with `respond(_:)`.
public final class LateAuthenticator: Authenticator {
    private struct State {
        var outcome: AuthenticationOutcome?
        var waiting: [CheckedContinuation<AuthenticationOutcome, Never>] = []
    }

    private let state = AwaitableValue(State())

    /// Creates an authenticator without an outcome.
    public init() {}

    /// Returns once this many callers are suspended.
    public func untilWaiting(_ count: Int) async { await state.wait { $0.waiting.count >= count } }

    /// Resumes all suspended callers with the outcome, and returns it to all later callers.
    public func respond(_ outcome: AuthenticationOutcome) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: outcome) }
    }

    /// Suspends until `respond(_:)` is called.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        await withCheckedContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiting.append(continuation) }
                return state.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }
}

extension AccountStatus {
    /// Whether the account is valid.
    public var isGood: Bool { if case .valid = self { true } else { false } }
}
