import ArgumentParser
import GatewayCore
import GatewaySupport

/// The option for the output format, shared by all commands that print rows.
struct ResultOption: ParsableArguments {
    @Flag(help: "Print JSON, one object per line.") var json = false

    /// Prints one result as a line of JSON.
    func print(_ item: JSONValue) throws {
        try Console.printResult(String(decoding: JSONWriter.bytes(of: item), as: UTF8.self))
    }

    /// Prints all results: a table, or lines of JSON.
    func print(_ items: [JSONValue], columns: [ResultTable.Column]) throws {
        if json {
            for item in items { try print(item) }
        } else if !items.isEmpty {
            var table = ResultTable(columns)
            for item in items { table.add(item) }
            try Console.printResult(table.text)
        }
    }
}
