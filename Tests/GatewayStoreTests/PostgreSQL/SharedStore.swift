import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayStore

/// A store in PostgreSQL, and the local files of two installations that use it with the same key of device handles.
struct SharedStore {
    let first = TemporaryDirectory()
    let second = TemporaryDirectory()
    let settings: PostgreSQLStore.Settings
    let clock = ManualClock()

    /// - Parameter server: Nil for the one that all tests share.
    init(_ server: PostgreSQLServer? = nil) throws {
        let server = try #require(server ?? PostgreSQLServer.shared(), "PostgreSQL did not start")
        settings = PostgreSQLStore.Settings(connection: try server.freshDatabase(), readers: 2)
        let key = [UInt8](repeating: 7, count: KeyFile.byteCount)
        for directory in [first, second] {
            try PrivateFiles.makeDirectory(directory.path)
            try PrivateFiles.write(key, toNew: directory("ledger.sqlite.key"))
        }
    }

    /// Opens the store as one of the installations.
    func open(
        _ directory: TemporaryDirectory, _ use: PostgreSQLStore.Use = .shared(patience: .zero)
    ) throws(LedgerUnavailable) -> PostgreSQLStore {
        try PostgreSQLStore(settings, file: directory("ledger.sqlite"), use: use, clocks: clock.clocks)
    }

    /// Returns a connection of the test.
    func connect() throws -> PostgreSQLConnection {
        try PostgreSQLConnection.connect(settings.connection, within: .seconds(10))
    }

    /// Runs statements in the store's schema.
    func run(_ script: String) throws {
        let connection = try connect()
        defer { connection.close() }
        try connection.simple(script)
    }

    /// Keeps all nodes live without a sign of life.
    func keepAlive() throws { try run("UPDATE node SET until = \(Int64.max / 2)") }

    /// Ends the liveness of all nodes, as time would.
    func expire() throws { try run("UPDATE node SET until = \(Self.past)") }

    /// A time that passed a minute ago, as an expression of SQL.
    static let past = "(extract(epoch FROM now()) * 1000000)::bigint - 60000000"
}
