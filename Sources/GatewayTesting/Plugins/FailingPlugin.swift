public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// An authenticator that fails as configured, for tests of the gateway's behaviour with faulty plug-ins.
public enum FailingPlugin: AuthenticatorPlugin {
    /// `failing`
    public static let name: PluginName = "failing"
    /// Both kinds.
    public static let credentialKinds: Set<CredentialKind> = [.password, .bearer]

    /// The ways to fail.
    public enum Failure: String, Sendable, CaseIterable {
        /// `makeAuthenticator` throws.
        case `throws`
        /// It never returns, even if it is cancelled.
        case hangs
        /// It accepts every credential, but only after `after`, even if it is cancelled.
        case late
        /// It accepts every credential as `user`.
        case anotherUser = "another-user"
    }

    /// The settings under `failing:` in the configuration.
    public struct Settings: Sendable {
        /// `how`: `throws`, `hangs`, `late` or `another-user`. Required.
        public var how: Failure
        /// `user`: the name that is accepted. Default `somebody-else`.
        public var user: UserName
        /// `after`: the delay of `late`. 1 ms to 1 h, default 1 min.
        public var after: Duration

        /// Creates settings.
        public init(_ how: Failure, user: UserName, after: Duration = .seconds(60)) {
            self.how = how
            self.user = user
            self.after = after
        }
    }

    /// The error that `makeAuthenticator` throws.
    public struct Broken: Error {}

    /// Reads the settings. The caller reports unknown keys: it calls `finish()` on the reader.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        if !reader.has("how") { reader.report("\"how\" is missing") }
        let how = reader.word("how", of: Failure.self)
        let user = UserName(canonical: reader.string("user") ?? "somebody-else")
        if user == nil { reader.report("user", "is not a canonical user name") }
        let after = reader.duration("after", in: .milliseconds(1)...Duration.seconds(3600))
        guard let how, let user else { return nil }
        var settings = Settings(how, user: user)
        if let after { settings.after = after }
        return settings
    }

    // Continuations that are kept and never resumed.
    private static let hung = Mutex<[CheckedContinuation<AuthenticationOutcome, Never>]>([])

    /// Returns no problems, because the plug-in fails later.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] { [] }

    /// Makes the authenticator, or throws if configured.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        let grant = AuthenticationOutcome.accepted(Identity(user: settings.user, authenticator: name))
        switch settings.how {
        case .throws: throw Broken()
        case .anotherUser: return ScriptedAuthenticator(always: grant)
        case .hangs:
            return ScriptedAuthenticator { _, _ in
                await withCheckedContinuation { hanging in hung.withLock { $0.append(hanging) } }
            }
        case .late:
            return ScriptedAuthenticator { [after = settings.after] _, _ in
                // A detached task, so that the caller's deadline does not cancel it.
                await Task.detached { try? await Task.sleep(for: after) }.value
                return grant
            }
        }
    }
}
