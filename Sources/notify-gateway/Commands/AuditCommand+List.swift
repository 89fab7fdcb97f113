import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewayStore
import GatewaySupport

extension AuditCommand {
    /// `audit list`: lists calls or records, the newest last.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List calls, one per row, the newest last.",
            discussion: """
                A call matches if one of its records matches all options. Starts, stops and operator actions are rows \
                too; checkpoints are not. --records lists single records; audit show lists those of one call.

                Examples: notify-gateway audit list --to bob --since 7d
                          notify-gateway audit list --result would-refuse --since 1d
                          notify-gateway audit list --limit sends --since 1h30m
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var filter: AuditFilterOption
        @OptionGroup var nodes: NodesOption
        @OptionGroup var member: NodeMemberOption
        @Flag(help: "List records instead of calls, including checkpoints.") var records = false
        @Flag(help: "Print one JSON object per row; with --records the unchanged lines of the journal.") var json =
            false
        @Flag(help: "Print CSV (RFC 4180), one record per line.") var csv = false
        @Option(name: [.customShort("n"), .long], help: "The maximum number of rows, the newest ones. Default: 1000.")
        var rows: Int?

        func validate() throws {
            guard !member.withNode || (json && records) else {
                throw ValidationError("--with-node requires --records --json; other forms name the gateway anyway.")
            }
            guard !json || !csv else { throw ValidationError("Give either --json or --csv, not both.") }
            guard (rows ?? 1) > 0 else { throw ValidationError("--rows must be 1 or more.") }
            if rows != nil, filter.limit?.rows != nil {
                throw ValidationError("Give either --rows or a number with --limit, not both.")
            }
        }

        func run() async throws {
            let configuration = try file.load()
            var query = try filter.query(by: configuration.names, now: Clocks.system.wall())
            let rows = rows ?? filter.limit?.rows ?? 1000
            let (count, isMore) = try AuditJournal.query(configuration, nodes) { source in
                try member.validate(source)
                if records || csv {
                    return try printRecords(query, of: source, json ? .json : csv ? .csv : .table, rows)
                }
                query.hidesChainRecords = true
                return try Self.printCalls(query, of: source, json: json, rows)
            }
            if count == 0 { Console.printMessage("No journal records match.") }
            if isMore {
                Console.printMessage("Only the newest \(rows) rows are shown. Use --rows for more.")
            }
        }

        private func printRecords(
            _ query: AuditQuery, of source: any AuditSource, _ format: AuditPrinter.Format, _ rows: Int
        ) throws -> (Int, Bool) {
            var printer = AuditPrinter(format, hasNodes: source.hasNodes, member)
            let isMore = try source.forEachLine(query, limit: rows) { try printer.add($0) }
            try printer.finish()
            return (printer.count, isMore)
        }

        private static func printCalls(
            _ query: AuditQuery, of source: any AuditSource, json: Bool, _ rows: Int
        ) throws -> (Int, Bool) {
            var table = ResultTable(CallRow.columns(hasNodes: source.hasNodes))
            var count = 0
            let isMore = try source.forEachCall(query, limit: rows) { lines in
                guard let row = CallRow(lines) else { return }
                count += 1
                if json {
                    try Console.printResult(String(decoding: JSONWriter.bytes(of: row.object), as: UTF8.self))
                } else {
                    table.add(row.cells)
                }
            }
            if !table.isEmpty { try Console.printResult(table.text) }
            return (count, isMore)
        }
    }

    /// `audit export`: prints all matching records for other programs.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Print all matching records as JSON or CSV.",
            discussion: """
                In CSV, a text that a spreadsheet would evaluate as a formula is prefixed with an apostrophe.

                Example: notify-gateway audit export --csv --since 30d > last-month.csv
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var filter: AuditFilterOption
        @OptionGroup var nodes: NodesOption
        @OptionGroup var member: NodeMemberOption
        @Flag(help: "Print the unchanged lines of the journal, one record per line.") var json = false
        @Flag(help: "Print CSV (RFC 4180).") var csv = false

        func validate() throws {
            guard json != csv else { throw ValidationError("Give either --json or --csv.") }
            guard !member.withNode || json else { throw ValidationError("--with-node requires --json.") }
            if let rows = filter.limit?.rows {
                throw ValidationError("--limit takes the name of a limit here, not \(rows): export prints all records.")
            }
        }

        func run() async throws {
            let configuration = try file.load()
            let query = try filter.query(by: configuration.names, now: Clocks.system.wall())
            let count = try AuditJournal.query(configuration, nodes) { source in
                try member.validate(source)
                var printer = AuditPrinter(json ? .json : .csv, hasNodes: source.hasNodes, member)
                _ = try source.forEachLine(query, limit: .max) { try printer.add($0) }
                try printer.finish()
                return printer.count
            }
            if count == 0 { Console.printMessage("No journal records match.") }
        }
    }
}
