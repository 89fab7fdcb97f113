import ArgumentParser
import Foundation
import GatewayCore
import GatewayServer

/// `ledger`: the database of registrations and sessions.
struct LedgerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ledger", abstract: "Back the ledger up.", subcommands: [Backup.self])

    struct Backup: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Copy the ledger and its key, while the gateway runs or without one.",
            discussion: """
                FILE is the copy, FILE.key its key, FILE.digest.key that of the journal's digests; none may
                exist. The copy is of one moment, and a gateway can be started with
                it. It is written by the gateway, as its user and with its rights. Recorded with your uid.

                Example: notify-gateway ledger backup /var/backups/ledger.sqlite
                """)

        @Argument(help: "Where to.") var file: String
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let path = URL(filePath: file).standardizedFileURL.path(percentEncoded: false)
            let request = ControlRequest("ledger backup", [.init("file", .string(path))])
            if let fault = try await gateway.askEither(request, onItem: { _ in }) { throw fault }
            Console.complain("The ledger was copied to \(path), and its key to \(path).key.")
        }
    }
}
