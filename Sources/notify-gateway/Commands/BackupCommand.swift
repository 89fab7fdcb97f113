import ArgumentParser
import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewayStore
import GatewaySupport
import HMACToken

/// `backup`: writes everything that a gateway on another machine needs to go on.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Back up the gateway's data, with or without a running gateway.",
        discussion: """
            Writes one file into DIRECTORY, notify-gateway-TIME.tar, and verifies it; with - the archive is written to \
            standard output. It contains the ledger, the texts of secure pushes, all keys with which the gateway reads \
            them, signs the journal and issues tokens, and the segments of the journal of the last day. The command \
            writes it with its own rights, mode 0600. It contains secrets: keep it like the gateway's own files. \
            With a store in PostgreSQL it contains the keys and the journal; back the database up with its own means. \
            Recorded with your uid.

            Example: notify-gateway backup /var/backups
            Example: notify-gateway backup - | ssh backup@host 'cat > gateway.tar'
            """)

    @Argument(help: "An existing directory, or - for standard output.") var directory: String
    @Flag(help: "Include every segment of the journal.") var wholeJournal = false
    @OptionGroup var gateway: ControlOption

    func run() async throws {
        if directory.isEmpty {
            throw CommandFailure.refused("Name a directory, or - for standard output. Nothing was written.")
        }
        let configuration = try gateway.file.load()
        let backup = GatewayBackup(
            configuration: configuration, tokenKeys: gateway.file.tokenKeyFiles(),
            includesWholeJournal: wholeJournal)
        let path = URL(filePath: directory).standardizedFileURL.path(percentEncoded: false)
        var isDirectory: ObjCBool = false
        if directory == "-" {
            guard isatty(STDOUT_FILENO) == 0 else {
                throw CommandFailure.refused("A backup is not written to a terminal. Name a directory, or use a pipe.")
            }
        } else if !FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) || !isDirectory.boolValue {
            throw CommandFailure.refused("\(path.printable) is not a directory. Nothing was written.")
        }
        let request = ControlRequest("backup", [.init("target", .string(directory == "-" ? "stdout" : path))])
        if let fault = try await gateway.perform(request, onItem: { _ in }) { throw fault }
        do {
            try StoresOwner.resign()
            // Each segment stays open, so that retention removes none of them before it is copied.
            DescriptorLimit.raise()
            let now = Clocks.system.wall()
            if directory == "-" {
                report(try backup.write(to: STDOUT_FILENO, "standard output", now: now), "written")
            } else {
                let (file, manifest) = try BackupFile.write(backup, into: path, now: now)
                try Console.printResult(file)
                report(manifest, "written and verified")
            }
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            let rest = directory == "-" ? "what was written is not complete" : "left no file"
            throw CommandFailure.refused("The backup failed, and \(rest): \(OperatorMessage.of(error))")
        }
    }

    private func report(_ manifest: BackupManifest, _ what: String) {
        var sentences = ["The backup was \(what). It contains keys."]
        if manifest.store == .postgreSQL {
            sentences.append("It does not contain the database in PostgreSQL; back that up with pg_dump, for example.")
        }
        if !manifest.hasWholeJournal {
            sentences.append("Of the journal it has the last day; --whole-journal includes all of it.")
        }
        Console.printMessage(sentences.joined(separator: " "))
    }
}

extension ConfigurationOption {
    /// Returns the paths of the token keys of all authenticators that have some.
    func tokenKeyFiles() -> [String] {
        ConfigurationFile.allSettings(of: HMACTokenPlugin.self, in: config).settings.compactMap { $0?.keys }
            // The file itself, where a link leads to it.
            .map { URL(filePath: $0).resolvingSymlinksInPath().path(percentEncoded: false) }
    }
}
