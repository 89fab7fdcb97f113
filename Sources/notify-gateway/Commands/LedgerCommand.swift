import ArgumentParser
import Foundation
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport

/// `ledger`: commands for the database of registrations and sessions.
struct LedgerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ledger", abstract: "Back up the ledger, or move it to another store.",
        subcommands: [Backup.self, Export.self, Import.self])

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

    /// `ledger export`: writes the ledger as lines of JSON.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the ledger as lines of JSON, while no gateway runs.",
            discussion: """
                FILE must not exist. It contains everything in the ledger and the texts of secure pushes, which are \
                sealed, but no keys; "ledger import" of another store reads it. Recorded with your uid.

                Example: notify-gateway ledger export /var/lib/notify-gateway/ledger.jsonl
                """)

        @Argument(help: "The file to write.") var file: String
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let path = URL(filePath: file).standardizedFileURL.path(percentEncoded: false)
            let rows = try await gateway.transfer("ledger export", path)
            Console.printMessage("\(rows) rows of the ledger were written to \(path).")
        }
    }

    /// `ledger import`: reads an export into an empty store.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read the lines of \"ledger export\" into an empty store, while no gateway runs.",
            discussion: """
                The store must have the key files of the ledger that was exported. Either all rows are stored or none. \
                Recorded with your uid.

                Example: notify-gateway ledger import /var/lib/notify-gateway/ledger.jsonl
                """)

        @Argument(help: "The file to read.") var file: String
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let path = URL(filePath: file).standardizedFileURL.path(percentEncoded: false)
            let rows = try await gateway.transfer("ledger import", path)
            Console.printMessage("\(rows) rows were stored.")
        }
    }
}

extension ControlOption {
    /// Carries out an export or an import, and returns the number of rows.
    fileprivate func transfer(_ operation: String, _ path: String) async throws -> Int64 {
        var rows: Int64 = 0
        let fault = try await performOnStores(ControlRequest(operation, [.init("file", .string(path))])) { item in
            rows = item["rows"]?.integer ?? rows
        }
        if let fault { throw fault }
        return rows
    }
}
