public import GatewayCore

/// The `static-users` authenticator: passwords against a file of names and crypt(3) hashes.
public enum StaticUsersPlugin: AuthenticatorPlugin {
    /// `static-users`
    public static let name: PluginName = "static-users"
    /// Passwords.
    public static let takes: Set<CredentialKind> = [.password]
    /// Accounts are looked at again without a password.
    public static let accountKnowledge = AccountKnowledge.status
    /// The verdict is the file's alone.
    public static let verdictDependsOnPeer = false

    /// What stands behind `static-users:` in the configuration.
    public struct Settings: Sendable {
        /// `file`: the users file, in YAML, or as htpasswd has it where the name ends in `.htpasswd`. Required; relative to
        /// the configuration's directory. Holds hashes, so its mode is checked.
        public var file: String

        /// Settings for a users file.
        public init(file: String) { self.file = file }
    }

    /// Reads `file`. Unknown names are left to the owner of the reader, who calls `finish()`.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        reader.required("file").map { Settings(file: reader.absolute($0)) }
    }

    /// Everything wrong with the users file. Reads it and tries one hash of each cost, on the blocking pool.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] {
        do {
            _ = try await UserTable.load(settings.file, context: context)
            return []
        } catch {
            return error.problems
        }
    }

    /// Reads the users file once more and makes the authenticator.
    ///
    /// - Throws: `ConfigurationFault` where the file has changed for the worse since `problems` read it.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        StaticUsersAuthenticator(
            try await UserTable.load(settings.file, context: context), settings: settings, context: context)
    }
}
