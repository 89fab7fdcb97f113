import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Synchronization
import Testing

@testable import GatewayStore

/// A kind of store. The contract tests of stores run once for each.
enum StoreKind: CaseIterable {
    case sqlite
    case postgreSQL

    /// The kind of the stores that fixtures open.
    @TaskLocal static var current = StoreKind.sqlite

    /// The schema of each directory, so that a fixture that opens a directory again finds the same store.
    private static let schemas = Mutex<[String: PostgreSQLSettings]>([:])

    private struct WeakStore {
        weak var store: PostgreSQLStore?
    }

    /// The open store of each directory, which the fixtures of a ledger and of its texts share.
    private static let stores = Mutex<[String: WeakStore]>([:])

    /// Opens the store of a directory in PostgreSQL, or returns the one that is open.
    static func openPostgreSQL(_ directory: TemporaryDirectory) throws -> PostgreSQLStore {
        let file = directory("ledger.sqlite")
        if let open = stores.withLock({ $0[file]?.store }), open.lossReason == nil { return open }
        let store = try makePostgreSQL(file)
        stores.withLock { $0[file] = WeakStore(store: store) }
        return store
    }

    private static func makePostgreSQL(_ file: String) throws -> PostgreSQLStore {
        let settings = try schemas.withLock { schemas in
            if let known = schemas[file] { return known }
            let fresh = try #require(PostgreSQLServer.shared(), "PostgreSQL did not start").freshDatabase()
            schemas[file] = fresh
            return fresh
        }
        return try PostgreSQLStore(
            .init(connection: settings, readers: 2), file: file, use: .shared(patience: .zero), clocks: .system)
    }
}

/// Runs a test over each kind of store, one after the other. Without PostgreSQL it runs over SQLite alone.
struct OverEachStore: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    @concurrent
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let isForFiles = test.traits.contains { $0 is OnlySQLite }
        for kind in StoreKind.allCases where kind == .sqlite || (!isForFiles && PostgreSQLServer.isInstalled) {
            try await StoreKind.$current.withValue(kind) { try await function() }
        }
    }
}

/// Marks a test of a suite over each store that looks into an SQLite file.
struct OnlySQLite: TestTrait {}

extension Trait where Self == OverEachStore {
    /// Runs each test over each kind of store.
    static var overEachStore: OverEachStore { OverEachStore() }
}

extension Trait where Self == OnlySQLite {
    /// Runs the test over SQLite alone.
    static var onlySQLite: OnlySQLite { OnlySQLite() }
}
