import ArgumentParser
import GatewayCore
import GatewayServer
import GatewayStore

extension AuditCommand {
    /// `audit show`: one call with all its records.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Shows one call with all its records.",
            discussion: """
                A call's id is in the last column of audit list, and in the X-Request-Id of its response.

                Example: notify-gateway audit show 4bf92f3577b34da6a3ce929d0e0e4736
                """)

        @OptionGroup var file: ConfigurationOption
        @Argument(help: "The call, by its X-Request-Id.") var call: String
        @Flag(help: "Print the records as they stand in the journal, one a line.") var json = false

        private static let columns: [ResultTable.Column] = [
            .init("seq", "RECORD"), .init("at", "TIME"), .init("kind", "KIND"), .init("recipient", "RECIPIENT"),
            .init("result", "RESULT"), .init("status", "STATUS"), .init("ms", "MS"),
            .init("count", "COUNT", absent: "1"),
        ]
        /// What the columns say, and what is of the chain alone.
        private static let apart = columns.map(\.member) + ["prev", "hash", "call"]

        func run() async throws {
            let configuration = try file.load()
            var query = AuditQuery()
            query.call = call
            var lines: [[UInt8]] = []
            try AuditJournal.query(configuration) { trail in try trail.lines(query) { lines.append($0) } }
            guard !lines.isEmpty else { throw CommandFailure.refused("The journal has no call \(call.printable).") }
            if json {
                for line in lines { try Console.say(String(decoding: line, as: UTF8.self)) }
                return
            }
            let records = lines.compactMap(AuditPrinter.record)
            try Console.say(Self.facts(call, records))
            var table = ResultTable(Self.columns)
            for record in records { table.add(record) }
            try Console.say("\n" + table.text)
        }

        /// What the records say beside the columns, one member a line. Members whose values differ have each of them.
        private static func facts(_ call: String, _ records: [JSONValue]) -> String {
            var names: [String] = []
            var values: [String: [String]] = [:]
            for case .object(let members) in records {
                for member in members where !apart.contains(member.name) {
                    let text = AuditPrinter.plain(member.value).printable
                    if values[member.name] == nil { names.append(member.name) }
                    if values[member.name]?.contains(text) != true { values[member.name, default: []].append(text) }
                }
            }
            let rows = [("call", call.printable)] + names.map { ($0, values[$0]?.joined(separator: ", ") ?? "") }
            let width = rows.map(\.0.count).max() ?? 0
            return rows.map { name, text in
                name + String(repeating: " ", count: width - name.count) + "  " + text
            }.joined(separator: "\n")
        }
    }
}
