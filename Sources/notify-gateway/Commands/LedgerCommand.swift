import ArgumentParser
import Foundation
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport

/// `ledger`: commands for the database of registrations and sessions.
struct LedgerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ledger", abstract: "Back up the ledger.", subcommands: [Backup.self])

    /// `ledger backup`: copies the ledger and its keys.
    struct Backup: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy the ledger and its keys, with or without a running gateway.",
            discussion: """
                FILE is the copy, FILE.key its key, FILE.digest.key the key of the journal's digests, FILE.texts and \
                FILE.texts.key the texts of secure pushes and their key; none of them may exist. The copy is a consistent snapshot that a gateway can start with. The gateway writes it, with \
                the rights of its user. Recorded with your uid.

                Example: notify-gateway ledger backup /var/backups/ledger.sqlite
                """)

        @Argument(help: "The path of the copy.") var file: String
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let path = URL(filePath: file).standardizedFileURL.path(percentEncoded: false)
            let request = ControlRequest("ledger backup", [.init("file", .string(path))])
            if let fault = try await gateway.perform(request, mayTakeMinutes: true, onItem: { _ in }) {
                throw fault
            }
            Console.printMessage("The ledger was copied to \(path), and its key to \(path).key.")
        }
    }
}
