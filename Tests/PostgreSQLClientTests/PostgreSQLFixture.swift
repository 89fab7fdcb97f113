import Foundation
import GatewaySupport
import GatewayTesting
import PostgreSQLClient

/// Whether tests that need a server can run; prints a line if not.
let hasServer = PostgreSQLServer.shared() != nil

/// Returns a connection to an empty schema of the shared server.
func connect(_ change: (inout PostgreSQLSettings) -> Void = { _ in }) throws -> PostgreSQLConnection {
    var settings = try freshDatabase()
    change(&settings)
    return try PostgreSQLConnection.connect(settings, within: .seconds(10))
}

/// Returns the settings for an empty schema of the shared server.
func freshDatabase() throws -> PostgreSQLSettings {
    guard let server = PostgreSQLServer.shared() else { throw SystemTools.Failure(description: "no server") }
    return try server.freshDatabase()
}

extension PostgreSQLConnection {
    /// Returns all rows of a statement.
    func rows(_ sql: String, _ arguments: [PostgreSQLValue] = []) throws -> [[PostgreSQLValue]] {
        var rows: [[PostgreSQLValue]] = []
        try forEachRow(sql, arguments) { _, values in rows.append(values) }
        return rows
    }
}

/// Returns the error of the closure, which must be of the client.
func failure<Output>(_ body: () throws -> Output) throws -> PostgreSQLError? {
    do {
        _ = try body()
        return nil
    } catch let error as PostgreSQLError { return error }
}

/// Returns the instant after the milliseconds.
func instant(afterMilliseconds milliseconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Clocks.system.monotonic().nanoseconds + milliseconds * 1_000_000)
}

/// Returns the resident memory of the process.
func residentBytes() throws -> Int {
    let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * 4096
}
