import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

@Suite("Restarts of PostgreSQL", .enabled(if: PostgreSQLServer.isInstalled))
struct ServerRestartTests {
    @Test("Connections that a restart of the server closed are replaced without a failed call")
    func idleConnections() async throws {
        let server = try PostgreSQLServer()
        let directory = TemporaryDirectory()
        let store = try PostgreSQLStore(
            PostgreSQLStore.Settings(connection: server.settings, readers: 1), file: directory("ledger.sqlite"),
            use: .shared(), clocks: .system)
        let ledger = StoredLedger(store)
        for _ in 0..<2 {
            #expect(await ledger.check() == nil)
            #expect(
                try await !ledger.isHeld(LedgerFixture.id(1), forAnotherThan: try LedgerFixture.handle(1)))
            try server.restart()
        }
        #expect(await ledger.check() == nil)
        #expect(ledger.fault == nil)
        try ledger.close()
    }
}
