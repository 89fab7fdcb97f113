internal import Foundation
internal import GatewayCore
internal import GatewayStore
public import GatewaySupport
internal import Logging
internal import NIOPosix

/// Validates a configuration without starting anything, for the command `check`.
public enum ConfigurationCheck {
    /// Returns the problems of the file and of the files that its authenticators name, in the order of the files.
    public static func problems(
        of path: String, catalog: PluginCatalog, clocks: Clocks = .system
    ) async -> [ConfigurationProblem] {
        let (configuration, problems) = ConfigurationFile.load(path, catalog: catalog)
        // An error elsewhere in the file does not hide problems in the files of authenticators with valid settings.
        let authenticators =
            configuration?.authenticators ?? ConfigurationFile.authenticators(in: path, catalog: catalog)
        let threads = NIOThreadPool(numberOfThreads: 2)
        threads.start()
        let assembly = AuthenticatorAssembly(
            plugins: authenticators, names: configuration?.names ?? ConfigurationFile.names(in: path),
            pool: BlockingPool(threads: threads, capacity: 64), clocks: clocks,
            logger: Logger(label: "check") { _ in SwiftLogNoOpLogHandler() })
        let found = await assembly.problems()
        try? await threads.shutdownGracefully()
        return sorted(problems) + found
            + (configuration.map { stores(of: $0, path) + ConfiguredTLS.problems($0, clocks: clocks) } ?? [])
    }

    private static func stores(of configuration: ServerConfiguration, _ path: String) -> [ConfigurationProblem] {
        // A check opens no connection.
        if configuration.store != nil { return directories(of: configuration, path) }
        return directories(of: configuration, path)
            + NameRulesChange.problems(ofLedger: configuration.ledger.file, for: configuration.names)
            + unconfiguredRegistrations(of: configuration, path) + migration(of: configuration, path)
            + damage(of: configuration, path)
            + secureTexts(of: configuration, path)
    }

    /// Returns a warning for each authenticator that has registrations and is not configured any more.
    private static func unconfiguredRegistrations(
        of configuration: ServerConfiguration, _ path: String
    ) -> [ConfigurationProblem] {
        // A ledger that cannot be read is a problem of its own.
        guard let counts = try? LedgerRegistrations.counts(file: configuration.ledger.file) else { return [] }
        return configuration.unconfiguredRegistrations(counts, file: path)
    }

    /// Returns a warning of stored texts that the present key cannot open. A running gateway may have the file open.
    private static func secureTexts(of configuration: ServerConfiguration, _ path: String) -> [ConfigurationProblem] {
        let file = StoredSecureTexts.path(ofLedger: configuration.ledger.file)
        let problem: String?
        do throws(LedgerUnavailable) {
            problem = try StoredSecureTexts.keyProblem(inFile: file)
        } catch {
            problem = "\(file) cannot be read: \(error.detail)"
        }
        return problem.map {
            [ConfigurationProblem(at: SourceLocation(file: path), path: "sends", $0, severity: .warning)]
        } ?? []
    }

    /// Returns the damage of the ledger's file. A running gateway may have the file open.
    private static func damage(of configuration: ServerConfiguration, _ path: String) -> [ConfigurationProblem] {
        let file = configuration.ledger.file
        let damage: String?
        do throws(LedgerUnavailable) { damage = try StoredLedger.damage(inFile: file) } catch { damage = nil }
        return damage.map {
            [
                ConfigurationProblem(
                    at: SourceLocation(file: path), path: "ledger.file",
                    "\(file) is damaged: \($0); restore a backup (notify-gateway restore --replace)")
            ]
        } ?? []
    }

    private static func migration(of configuration: ServerConfiguration, _ path: String) -> [ConfigurationProblem] {
        Migration.warning(configuration).map {
            [ConfigurationProblem(at: SourceLocation(file: path), path: "ledger", $0, severity: .warning)]
        } ?? []
    }

    private static func directories(of configuration: ServerConfiguration, _ path: String) -> [ConfigurationProblem] {
        let check = DirectoryCheck(file: path)
        let key = configuration.journal.signingKey
        let ledger = (configuration.ledger.file as NSString).deletingLastPathComponent
        return [
            check.problem(with: configuration.journal.directory, under: "journal.directory"),
            FileManager.default.fileExists(atPath: key)
                ? nil
                : check.problem(with: (key as NSString).deletingLastPathComponent, under: "journal.signing-key"),
            check.problem(with: ledger, under: "ledger.file"),
            configuration.control.flatMap { check.problem(withControlSocket: $0) },
        ].compactMap(\.self) + check.problems(with: configuration.journal)
    }

    private static func sorted(_ problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
        problems.sorted { left, right in
            (left.location.line, left.location.column) < (right.location.line, right.location.column)
        }
    }
}

/// Checks whether the gateway can write to the directories of the configuration. Creates nothing.
struct DirectoryCheck {
    let file: String

    /// Returns the problem with a directory that exists or that the first start creates; nil if there is none.
    func problem(with directory: String, under path: String) -> ConfigurationProblem? {
        let manager = FileManager.default
        var nearest = directory.isEmpty ? "." : directory
        var isDirectory: ObjCBool = false
        while !manager.fileExists(atPath: nearest, isDirectory: &isDirectory) {
            let parent = (nearest as NSString).deletingLastPathComponent
            nearest = parent.isEmpty ? "." : parent
        }
        let obstacle: String? =
            if !isDirectory.boolValue {
                "\(nearest) is not a directory"
            } else if !manager.isWritableFile(atPath: nearest) {
                "\(nearest) cannot be written by this user"
            } else {
                nil
            }
        return obstacle.map { fault($0, under: path) }
    }

    /// Returns the problem with the directory of the control socket; nil if there is none.
    func problem(withControlSocket socket: String) -> ConfigurationProblem? {
        problem(with: ControlSocketPath.directory(of: socket), under: "control")
            ?? ControlSocketPath.obstacle(inDirectoryOf: socket).map { fault($0, under: "control") }
    }

    func fault(_ message: String, under path: String) -> ConfigurationProblem {
        ConfigurationProblem(at: SourceLocation(file: file), path: path, message)
    }
}
