import ArgumentParser
import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewayStore
import GatewaySupport

/// `restore`: puts the files of a backup in place.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Restore a backup, while no gateway runs.",
        discussion: """
            Reads the newest backup in a directory, one file, or standard input (-), verifies it, and puts its files \
            where the configuration has them: all of them, or none. It refuses a backup that is incomplete, changed or of \
            a newer version, and a target that has other data. A journal that goes beyond that of the backup is kept. \
            The next start ends all sessions, and compares the ledger with the journal. If the command is interrupted, \
            the gateway does not start until it was repeated.

            Example: notify-gateway restore /var/backups
            Example: ssh backup@host 'cat gateway.tar' | notify-gateway restore -
            """)

    @Argument(help: "A directory with backups, a backup, or - for standard input.") var source: String
    @Flag(help: "Move existing data aside, into directories replaced-TIME beside it.") var replace = false
    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        let configuration = try file.load()
        let restore = GatewayRestore(
            configuration: configuration, tokenKeys: file.tokenKeyFiles(), isReplacing: replace)
        do {
            let (input, name) = try open()
            defer { close(input) }
            let outcome = try restore.run(from: input, name, now: Clocks.system.wall())
            report(outcome, of: name, configuration)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            let state =
                RestoreMark.isSet(ofLedger: configuration.ledger.file)
                ? "The restore is not complete: repeat it." : "Nothing was restored."
            throw CommandFailure.refused("\(OperatorMessage.of(error)). \(state)")
        }
    }

    /// Opens the backup and returns its name.
    private func open() throws -> (CInt, String) {
        if source == "-" {
            guard !Console.isInteractive else {
                throw CommandFailure.refused("A backup is not read from a terminal. Name a file, or use a pipe.")
            }
            return (dup(STDIN_FILENO), "standard input")
        }
        var path = URL(filePath: source).standardizedFileURL.path(percentEncoded: false)
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), isDirectory.boolValue {
            guard let newest = try BackupFile.newest(in: path) else {
                throw CommandFailure.refused("\(path.printable) has no file notify-gateway-TIME.tar.")
            }
            path = newest
        }
        let input = Foundation.open(path, O_RDONLY | O_CLOEXEC)
        guard input >= 0 else {
            throw CommandFailure.refused("\(path.printable) cannot be read: \(String(cString: strerror(errno))).")
        }
        return (input, path)
    }

    private func report(
        _ outcome: GatewayRestore.Outcome, of name: String, _ configuration: ServerConfiguration
    ) {
        let manifest = outcome.manifest
        let what = "The backup \(name.printable) of \(manifest.created), made by version \(manifest.program.printable),"
        Console.printMessage(
            outcome.restored.isEmpty
                ? "\(what) is in place already."
                : "\(what) was restored; files: \(outcome.restored.count).")
        for directory in outcome.replaced { Console.printMessage("Former data was moved to \(directory).") }
        for member in outcome.skipped {
            Console.printMessage("\(member) was not restored: the configuration has no place for it.")
        }
        if let first = outcome.firstLine {
            if outcome.lacksBeginning {
                Console.printMessage(
                    "The backup has the journal from line \(first) on. Until the earlier segments are copied from the "
                        + "former machine or from the journal's archive to \(configuration.journal.directory), audit "
                        + "verify reports lines 1 to \(first - 1) as missing.")
            }
        } else {
            Console.printMessage(
                "The journal in \(configuration.journal.directory) goes beyond the backup and was kept.")
        }
        Console.printMessage(
            manifest.store == .postgreSQL
                ? "The database in PostgreSQL is not part of the backup. Restore it with its own means before you start "
                    + "the gateway; docs/postgresql.md describes it."
                : "Start the gateway. All users log in again; serve --keep-restored-sessions keeps their sessions.")
    }
}
