public import GatewayCore
internal import Synchronization

/// An authenticator that fails as the configuration says: what the gateway must get along with, whatever a plug-in
/// does.
public enum FailingPlugin: AuthenticatorPlugin {
    /// `failing`
    public static let name: PluginName = "failing"
    /// Both kinds.
    public static let takes: Set<CredentialKind> = [.password, .bearer]

    /// The ways to fail.
    public enum Failure: String, Sendable, CaseIterable {
        /// Making the authenticator throws.
        case `throws`
        /// It never answers, cancelled or not.
        case hangs
        /// It accepts everybody, but after `after` only, cancelled or not.
        case late
        /// It accepts everybody as `user`, whoever logs in.
        case anotherUser = "another-user"
    }

    /// What stands behind `failing:` in the configuration.
    public struct Settings: Sendable {
        /// `how`: `throws`, `hangs`, `late` or `another-user`. Required.
        public var how: Failure
        /// `user`: the name that is accepted. Default `somebody-else`.
        public var user: UserName
        /// `after`: how late `late` is. 1 ms to 1 h, default 1 min.
        public var after: Duration

        /// Settings from all values.
        public init(_ how: Failure, user: UserName, after: Duration = .seconds(60)) {
            self.how = how
            self.user = user
            self.after = after
        }
    }

    /// What making one throws.
    public struct Broken: Error {}

    /// Reads the settings. Unknown names are left to the owner of the reader, who calls `finish()`.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        if !reader.has("how") { reader.report("\"how\" is missing") }
        let how = reader.word("how", of: Failure.self)
        let user = UserName(canonical: reader.string("user") ?? "somebody-else")
        if user == nil { reader.report("user", "is no user name in canonical form") }
        let after = reader.duration("after", in: .milliseconds(1)...Duration.seconds(3600))
        guard let how, let user else { return nil }
        var settings = Settings(how, user: user)
        if let after { settings.after = after }
        return settings
    }

    // Kept, never resumed: what is waited for is not lost, it just does not come.
    private static let hung = Mutex<[CheckedContinuation<AuthenticationOutcome, Never>]>([])

    /// Nothing: it fails later.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] { [] }

    /// Makes the authenticator, or throws where it should.
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
                // In a task of its own, which no deadline of the caller cancels.
                await Task.detached { try? await Task.sleep(for: after) }.value
                return grant
            }
        }
    }
}
