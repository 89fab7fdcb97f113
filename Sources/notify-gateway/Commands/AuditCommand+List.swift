import ArgumentParser
import GatewayCore
import GatewayServer
import GatewayStore

extension AuditCommand {
    /// `audit list`: calls or records, the newest last.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Lists calls, one a row, the newest last.",
            discussion: """
                A call fits where one of its records fits all options. Starts, stops and what operators did are rows too; \
                checkpoints are not. --records lists the records themselves; audit show lists those of one call.

                Examples: notify-gateway audit list --to bob --since 7d
                          notify-gateway audit list --result would-refuse --since 1d
                          notify-gateway audit list --limit sends --since 1h30m
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var filter: AuditFilterOption
        @Flag(help: "List the records instead, checkpoints included.") var records = false
        @Flag(help: "Print one JSON object a row; with --records the lines as they stand in the journal.") var json =
            false
        @Flag(help: "Print CSV (RFC 4180), one record a line.") var csv = false
        @Option(name: [.customShort("n"), .long], help: "How many rows at most, the newest. Default: 1000.")
        var rows: Int?

        func validate() throws {
            guard !json || !csv else { throw ValidationError("Either --json or --csv.") }
            guard (rows ?? 1) > 0 else { throw ValidationError("--rows must be 1 or more.") }
            if rows != nil, filter.limit?.rows != nil {
                throw ValidationError("Either --rows or a number with --limit.")
            }
        }

        func run() async throws {
            let configuration = try file.load()
            var query = try filter.query(by: configuration.names, now: Clocks.system.wall())
            let rows = rows ?? filter.limit?.rows ?? 1000
            let (count, isMore) = try AuditJournal.query(configuration) { trail in
                if records || csv {
                    return try Self.printRecords(query, of: trail, json ? .json : csv ? .csv : .table, rows)
                }
                query.hidesCheckpoints = true
                return try Self.printCalls(query, of: trail, json: json, rows)
            }
            if count == 0 { Console.complain("The journal has nothing that fits.") }
            if isMore {
                Console.complain("There are more: these are the newest \(rows). --rows takes another number.")
            }
        }

        private static func printRecords(
            _ query: AuditQuery, of trail: AuditTrail, _ format: AuditPrinter.Format, _ rows: Int
        ) throws -> (Int, Bool) {
            var printer = AuditPrinter(format)
            let isMore = try trail.lines(query, limit: rows) { try printer.add($0) }
            try printer.end()
            return (printer.count, isMore)
        }

        private static func printCalls(
            _ query: AuditQuery, of trail: AuditTrail, json: Bool, _ rows: Int
        ) throws -> (Int, Bool) {
            var table = ResultTable(CallRow.columns)
            var count = 0
            let isMore = try trail.calls(query, limit: rows) { lines in
                guard let row = CallRow(lines) else { return }
                count += 1
                if json {
                    try Console.say(String(decoding: JSONWriter.bytes(of: row.object), as: UTF8.self))
                } else {
                    table.add(row.cells)
                }
            }
            if !table.isEmpty { try Console.say(table.text) }
            return (count, isMore)
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
            if let rows = filter.limit?.rows {
                throw ValidationError("--limit takes the name of a limit here, not \(rows): everything is exported.")
            }
        }

        func run() async throws {
            let configuration = try file.load()
            let query = try filter.query(by: configuration.names, now: Clocks.system.wall())
            let count = try AuditJournal.query(configuration) { trail in
                var printer = AuditPrinter(json ? .json : .csv)
                try trail.lines(query) { try printer.add($0) }
                try printer.end()
                return printer.count
            }
            if count == 0 { Console.complain("The journal has nothing that fits.") }
        }
    }
}
