import ArgumentParser
import GatewayCore

/// How results are printed: the same option for every command that prints rows.
struct ResultOption: ParsableArguments {
    @Flag(help: "Print JSON, one object a line.") var json = false

    /// Prints one result as a line of JSON.
    func say(_ item: JSONValue) throws {
        try Console.say(String(decoding: JSONWriter.bytes(of: item), as: UTF8.self))
    }

    /// Prints results that are all there: a table, or lines of JSON.
    func say(_ items: [JSONValue], columns: [ResultTable.Column]) throws {
        if json {
            for item in items { try say(item) }
        } else if !items.isEmpty {
            var table = ResultTable(columns)
            for item in items { table.add(item) }
            try Console.say(table.text)
        }
    }
}
