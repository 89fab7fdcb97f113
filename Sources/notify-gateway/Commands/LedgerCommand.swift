import ArgumentParser
import Foundation
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport

/// `ledger`: commands for the database of registrations and sessions.
struct LedgerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ledger", abstract: "Move the ledger to another store.", subcommands: [Export.self, Import.self])

    /// `ledger export`: writes the ledger as lines of JSON.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write the ledger as lines of JSON, while no gateway runs.",
            discussion: """
                FILE must not exist; - is standard output. It contains everything in the ledger and the texts of secure pushes, which are \
                sealed, but no keys; "ledger import" of another store reads it. Recorded with your uid.

                Example: notify-gateway ledger export /var/backups/ledger.jsonl
                """)

        @Argument(help: "The file to write, or - for standard output.") var file: String
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            guard file == "-" || access(file, F_OK) != 0 else {
                throw CommandFailure.refused("\(file.printable) already exists. Nothing was written.")
            }
            let rows = try await gateway.withSpooledFile { spool in
                let rows = try await gateway.transfer("ledger export", spool.output, named: file)
                try StoresOwner.resign()
                try spool.deliver(to: file)
                return rows
            }
            Console.printMessage("\(rows) rows of the ledger were written to \(file.printable).")
        }
    }

    /// `ledger import`: reads an export into an empty store.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Read the lines of \"ledger export\" into an empty store, while no gateway runs.",
            discussion: """
                The store must have the key files of the ledger that was exported. Either all rows are stored or none. \
                Recorded with your uid.

                Example: notify-gateway ledger import /var/backups/ledger.jsonl
                """)

        @Argument(help: "The file to read, or - for standard input.") var file: String
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            let rows = try await gateway.withSpooledFile { spool in
                try spool.fill(from: file)
                return try await gateway.transfer("ledger import", spool.path, named: file)
            }
            Console.printMessage("\(rows) rows were stored.")
        }
    }
}

extension ControlOption {
    /// Carries out an export or an import, and returns the number of rows.
    fileprivate func transfer(_ operation: String, _ path: String, named name: String) async throws -> Int64 {
        var rows: Int64 = 0
        let fault = try await performOnStores(
            ControlRequest(operation, [.init("file", .string(path)), .init("name", .string(name))])
        ) { item in
            rows = item["rows"]?.integer ?? rows
        }
        if let fault { throw fault }
        return rows
    }
}
