internal import GRDB
internal import GatewayCore
internal import Synchronization

/// A check of a ledger's file on a connection of its own that only reads.
final class LedgerCheck: Sendable {
    /// How much is compared.
    enum Depth: String, Sendable {
        /// Every page, and the form of every row.
        case pages = "quick_check"
        /// That, and every row with the entries of the indexes.
        case whole = "integrity_check"
    }

    private let file: String
    private let depth: Depth
    private let connection = Mutex<DatabaseQueue?>(nil)
    private let isCancelled = Mutex(false)

    init(file: String, depth: Depth) {
        self.file = file
        self.depth = depth
    }

    /// Checks, and blocks meanwhile.
    ///
    /// - Returns: what is damaged; nil where nothing is, and after `cancel()`.
    func run() throws -> String? {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        do {
            let queue = try DatabaseQueue(path: file, configuration: configuration)
            connection.withLock { $0 = queue }
            defer {
                connection.withLock { $0 = nil }
                try? queue.close()
            }
            if isCancelled.withLock({ $0 }) { return nil }
            return try queue.read { try Self.damage(of: $0, depth) }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_INTERRUPT {
            return nil
        } catch {
            guard let damage = LedgerHealth.damage(in: error) else { throw error }
            return damage
        }
    }

    /// Has a check that runs end without a result. On any thread.
    func cancel() {
        isCancelled.withLock { $0 = true }
        connection.withLock { $0?.interrupt() }
    }

    /// What SQLite finds on a connection; nil where it finds nothing.
    static func damage(of database: Database, _ depth: Depth) throws -> String? {
        let found = try String.fetchAll(database, sql: "PRAGMA \(depth.rawValue)(1)")
        // The result names tables and pages, and no content.
        return found == ["ok"] ? nil : found.first ?? "the check gave no result"
    }
}
