internal import Foundation
public import GatewayCore
public import GatewaySupport
internal import Logging
internal import WorkerProcesses

/// The `ldap` authenticator: verifies passwords with a directory server (RFC 4511), such as OpenLDAP, 389 Directory
/// Server, FreeIPA or Active Directory.
public enum LDAPPlugin: AuthenticatorPlugin {
    /// `ldap`
    public static let name: PluginName = "ldap"
    /// Passwords.
    public static let credentialKinds: Set<CredentialKind> = [.password]
    /// Accounts can be rechecked without a password.
    public static let accountStatusSupport = AccountStatusSupport.status
    /// The server does not learn the peer's address.
    public static let outcomeDependsOnPeer = false

    /// The settings under `ldap:` in the configuration.
    public struct Settings: Sendable {
        /// `url`, `start-tls`, `ca`, `bind-dn`, `bind-password` and `timeout`.
        var server: DirectoryServer
        /// `base`, `scope`, `user-attribute`, `account-filter`, `group-base`, `group-attribute`, `group-filter` and
        /// `group-name`.
        var search: AccountSearch
        /// `filter`: the search filter for the user's entry, with `{user}`.
        var filter: SearchFilter
        /// `timeout`: the maximum duration of a login, with the time in the queue. 100 ms to 60 s, default 5 s.
        var timeout: Duration = .seconds(5)
        /// `workers`: the number of concurrent logins, each in its own process. 1 to 64, default 4.
        var workers = 4
        /// `queue`: the number of logins that may wait for a worker. 4 to 4096, default 64. One address may use a
        /// quarter.
        var queue = 64

        /// The location of `ca` in the configuration, for problems that are found later.
        var authoritiesLocation = SourceLocation(file: "")
        /// The path of `ca` in the configuration.
        var authoritiesPath = "ca"
        /// The program to start as a worker: this program.
        var program = "/proc/self/exe"

        /// Returns the request for a user.
        func request(_ operation: DirectoryRequest.Operation, user: String, password: Secret) -> DirectoryRequest {
            DirectoryRequest(
                operation: operation, server: server, search: search, filter: filter.filled(["user": user]), user: user,
                password: password)
        }
    }

    /// Reads the settings described at `SettingsReader`. The caller reports unknown keys: it calls `finish()` on the
    /// reader.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? { SettingsReader(reader).settings() }

    /// Returns the problems of the file with authorities. The server is not contacted before the first login.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] {
        func problem(_ message: String) -> ConfigurationProblem {
            ConfigurationProblem(at: settings.authoritiesLocation, path: settings.authoritiesPath, message)
        }
        let file = settings.server.authorities
        guard !file.isEmpty else { return [] }
        do {
            let fault = try await context.filePool.run { () -> String? in
                // The system's list has a quarter of a mebibyte.
                guard let data = FileManager.default.contents(atPath: file) else { return "\(file) cannot be read" }
                let marker = Data("-----BEGIN CERTIFICATE-----".utf8)
                return data.range(of: marker) == nil ? "\(file) has no certificate in PEM" : nil
            }
            return fault.map { [problem($0)] } ?? []
        } catch {
            return [problem("was not checked: the queue of the file threads is full; try again")]
        }
    }

    /// Makes the authenticator. The first login starts the first worker.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        LDAPAuthenticator(settings, context: context)
    }
}

extension WorkerPoolSettings {
    init(_ settings: LDAPPlugin.Settings) {
        self.init(
            source: .program(settings.program, arguments: ["ldap-worker"]), workers: settings.workers,
            deadline: settings.timeout, queue: settings.queue, failureMessage: "LDAP worker failed",
            requestsPerWorker: 1000)
    }
}
