public import GatewayCore
public import GatewaySupport

/// The `static-users` authenticator: passwords against a file of names and crypt(3) hashes.
public enum StaticUsersPlugin: AuthenticatorPlugin {
    /// `static-users`
    public static let name: PluginName = "static-users"
    /// Passwords.
    public static let credentialKinds: Set<CredentialKind> = [.password]
    /// Accounts can be rechecked without a password.
    public static let accountStatusSupport = AccountStatusSupport.status
    /// The result depends on the users file alone.
    public static let outcomeDependsOnPeer = false

    /// The settings under `static-users:` in the configuration.
    public struct Settings: Sendable {
        /// `file`: the path of the users file. Required; relative to the configuration's directory. A name that ends
        /// in `.htpasswd` selects the htpasswd format, any other name YAML. The file holds hashes, so its mode is
        /// checked.
        public var file: String

        /// Creates settings for a users file.
        public init(file: String) { self.file = file }
    }

    /// Reads `file`. The caller reports unknown keys: it calls `finish()` on the reader.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        reader.required("file").map { Settings(file: reader.absolute($0)) }
    }

    /// Returns every problem of the users file. Reads the file and computes one hash for each cost, on the file pool.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] {
        do {
            let table = try await UserTable.load(settings.file, context: context)
            guard table.users.isEmpty else { return [] }
            return [
                ConfigurationProblem(
                    at: SourceLocation(file: settings.file), path: "",
                    "has no users; every login is rejected, and all sessions and devices of its users end",
                    severity: .warning)
            ]
        } catch {
            return error.problems
        }
    }

    /// Returns the users of the file, disabled and expired ones too; nil if the file is invalid.
    public static func listedUsers(in settings: Settings, context: PluginContext) async -> Set<UserName>? {
        do { return Set(try await UserTable.load(settings.file, context: context).users.keys) } catch { return nil }
    }

    /// Reads the users file again and makes the authenticator.
    ///
    /// - Throws: `ConfigurationError` if the file became invalid after `problems` read it.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        StaticUsersAuthenticator(
            try await UserTable.load(settings.file, context: context), settings: settings, context: context)
    }
}
