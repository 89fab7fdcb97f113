import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import PostgreSQLClient
import Testing

@testable import GatewayServer

@Suite("Monitoring of the ledger", .enabled(if: PostgreSQLServer.isInstalled))
struct LedgerMonitorTests {
    @Test("The service ends with an error once another gateway uses the store", .timeLimit(.minutes(1)))
    func lostStore() async throws {
        let server = try PostgreSQLServer()
        let files = try TestFiles()
        let store = try PostgreSQLStore(
            PostgreSQLStore.Settings(connection: server.settings), file: files.path + "/ledger.sqlite",
            use: .shared(),
            clocks: .system)
        let ledger = StoredLedger(store)
        try server.run("UPDATE node SET fence = fence + 1")
        #expect(await ledger.check() != nil)
        await #expect(throws: LedgerUnavailable.self) {
            try await LedgerMonitor(ledger: ledger, logger: Logger(label: "test")).run()
        }
        try ledger.close()
    }
}
