import ArgumentParser
import GatewayCore
import GatewayServer
import GatewayStore
import GatewaySupport

extension AuditCommand {
    /// `audit show`: prints all records of one call.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show",
            abstract: "Show all records of one call.",
            discussion: """
                The id of a call is in the last column of audit list, and in the X-Request-Id of its response.

                Example: notify-gateway audit show 4bf92f3577b34da6a3ce929d0e0e4736
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var nodes: NodesOption
        @OptionGroup var member: NodeMemberOption
        @Argument(help: "The id of the call (X-Request-Id).") var call: String
        @Flag(help: "Print the unchanged lines of the journal, one record per line.") var json = false

        private static let columns: [ResultTable.Column] = [
            .init("seq", "RECORD"), .init("at", "TIME"), .init("kind", "KIND"), .init("recipient", "RECIPIENT"),
            .init("result", "RESULT"), .init("status", "STATUS"), .init("ms", "MS"),
            .init("count", "COUNT", absent: "1"),
        ]
        /// The members that the columns contain, and those that concern only the chain or the call.
        private static let omittedMembers = columns.map(\.member) + ["prev", "hash", "call"]

        func validate() throws {
            guard !member.withNode || json else { throw ValidationError("--with-node requires --json.") }
        }

        func run() async throws {
            let configuration = try file.load()
            var query = AuditQuery()
            query.call = call
            var lines: [AuditLine] = []
            try AuditJournal.query(configuration, nodes) { source in
                try member.validate(source)
                _ = try source.forEachLine(query, limit: .max) { lines.append($0) }
            }
            guard !lines.isEmpty else { throw CommandFailure.refused("The journal has no call \(call.printable).") }
            if json {
                for line in lines { try Console.printLine(member.bytes(of: line)) }
                return
            }
            let records = lines.compactMap { AuditPrinter.record($0.namingNode) }
            try Console.printResult(Self.facts(call, records))
            var table = ResultTable(Self.columns)
            for record in records { table.add(record) }
            try Console.printResult("\n" + table.text)
        }

        /// Returns the members outside the columns, one per line, with all of their different values.
        private static func facts(_ call: String, _ records: [JSONValue]) -> String {
            var names: [String] = []
            var values: [String: [String]] = [:]
            for case .object(let members) in records {
                for member in members where !omittedMembers.contains(member.name) {
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
