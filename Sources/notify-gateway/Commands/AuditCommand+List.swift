import ArgumentParser
import GatewayCore
import GatewayServer
import GatewayStore

extension AuditCommand {
    /// `audit list`: records, newest last.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists records, the newest last.",
            discussion: "Example: notify-gateway audit list --to bob --since 7d")

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var filter: AuditFilterOption
        @Flag(help: "Print the records as they stand in the journal, one a line.") var json = false
        @Flag(help: "Print CSV (RFC 4180).") var csv = false
        @Option(help: "How many records at most, the newest.") var limit = 1000

        func validate() throws {
            guard !json || !csv else { throw ValidationError("Either --json or --csv.") }
            guard limit > 0 else { throw ValidationError("--limit must be 1 or more.") }
        }

        func run() async throws {
            let configuration = try file.load()
            let query = try filter.query(by: configuration.names, now: Clocks.system.wall())
            let isMore = try AuditQuestion.ask(configuration) { index in
                var printer = AuditPrinter(json ? .json : csv ? .csv : .table)
                let isMore = try index.lines(query, limit: limit) { try printer.add($0) }
                try printer.end()
                return isMore
            }
            if isMore {
                Console.complain("There are more: these are the newest \(limit). --limit takes another number.")
            }
        }
    }

    /// `audit export`: all records that fit, for other programs.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Prints all records that fit, as JSON or CSV.",
            discussion: """
                In CSV a text that a spreadsheet would take for a formula has an apostrophe before it.

                Example: notify-gateway audit export --csv --since 30d > last-month.csv
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var filter: AuditFilterOption
        @Flag(help: "Print the records as they stand in the journal, one a line.") var json = false
        @Flag(help: "Print CSV (RFC 4180).") var csv = false

        func validate() throws {
            guard json != csv else { throw ValidationError("Either --json or --csv.") }
        }

        func run() async throws {
            let configuration = try file.load()
            let query = try filter.query(by: configuration.names, now: Clocks.system.wall())
            try AuditQuestion.ask(configuration) { index in
                var printer = AuditPrinter(json ? .json : .csv)
                try index.lines(query) { try printer.add($0) }
                try printer.end()
            }
        }
    }
}
