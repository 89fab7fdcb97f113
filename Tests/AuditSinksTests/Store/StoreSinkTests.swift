import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import PostgreSQLClient
import Testing

@testable import AuditSinks
@testable import GatewayStore

@Suite("Audit sinks: the shared store", .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct StoreSinkTests {
    private static let name = AuditSinkSettings.sharedStore.name

    /// A store in PostgreSQL with a connection of the test.
    private struct Store {
        let directory: TestFiles
        let store: PostgreSQLStore
        let connection: PostgreSQLConnection

        init() throws {
            let server = try #require(PostgreSQLServer.shared(), "PostgreSQL did not start")
            let settings = PostgreSQLStore.Settings(connection: try server.freshDatabase())
            directory = try TestFiles()
            store = try PostgreSQLStore(
                settings, file: directory.path + "/ledger.sqlite", use: .shared(), clocks: Clocks.system)
            connection = try PostgreSQLConnection.connect(settings.connection, within: .seconds(10))
        }

        func copy() throws -> JournalCopy {
            let key = try #require(Ed25519.PrivateKey(seed: Secret([UInt8](repeating: 1, count: 32))))
            return JournalCopy(
                store, key: key.publicKey, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }

        /// The numbers of the lines in the store.
        func numbers() throws -> [Int] {
            var found: [Int] = []
            try connection.forEachRow("SELECT number FROM journal_line ORDER BY chain, number") { _, values in
                if case .integer(let number) = values[0] { found.append(Int(number)) }
            }
            return found
        }
    }

    @Test("The store gets all lines from the oldest on and keeps the position; the next run goes on there")
    func copies() async throws {
        let store = try Store()
        let files = try TestFiles()
        let first = try SinkFixture(files, segmentBytes: 4000, copy: store.copy())
        try await first.record(0..<20)
        await first.sinks.apply([])
        await first.untilConfirmed(Self.name)
        #expect(try store.numbers() == Array(1...41))
        await first.close()
        let second = try SinkFixture(files, segmentBytes: 4000, copy: store.copy())
        await second.sinks.apply([])
        try await second.record(20..<30)
        await second.untilConfirmed(Self.name)
        #expect(try store.numbers() == Array(1..<Int(second.followers.durableEnd)))
        #expect(!FileManager.default.fileExists(atPath: second.cursor(Self.name).path))
        await second.close()
    }

    @Test("While the store fails, the journal keeps the lines; afterwards each is copied once")
    func failure() async throws {
        let store = try Store()
        let fixture = try SinkFixture(copy: store.copy())
        await fixture.sinks.apply([])
        await fixture.untilConfirmed(Self.name)
        try store.connection.simple("ALTER TABLE journal_line RENAME TO away")
        try await fixture.record(0..<5)
        await fixture.waits.wait { $0.count >= 5 }
        #expect(fixture.waits.current.allSatisfy { $0 <= .seconds(2) })
        #expect(fixture.followers.firstRequired == 2)
        try store.connection.simple("ALTER TABLE away RENAME TO journal_line")
        await fixture.untilConfirmed(Self.name)
        #expect(try store.numbers() == Array(1...11))
        await fixture.close()
    }
}
