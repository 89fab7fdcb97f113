internal import GRDB
internal import GatewayCore
internal import Synchronization

/// An integrity check of a ledger's file on a separate read-only connection.
final class LedgerCheck: Sendable {
    /// The depth of a check, with the SQLite pragma as its raw value.
    enum Depth: String, Sendable {
        /// Checks every page and the format of every row.
        case pages = "quick_check"
        /// Also compares every row with the entries of the indexes.
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

    /// Runs the check. Blocks until it has finished.
    ///
    /// - Returns: A description of the damage; nil without damage and after `cancel()`.
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
            guard let damage = SQLiteMessage.damage(in: error) else { throw error }
            return damage
        }
    }

    /// Stops a running check without a result. Callable on any thread.
    func cancel() {
        isCancelled.withLock { $0 = true }
        connection.withLock { $0?.interrupt() }
    }

    /// Returns the first problem that SQLite finds on a connection; nil without one.
    static func damage(of database: Database, _ depth: Depth) throws -> String? {
        let found = try String.fetchAll(database, sql: "PRAGMA \(depth.rawValue)(1)")
        // SQLite's message names tables and pages, but no content.
        return found == ["ok"] ? nil : found.first ?? "the check gave no result"
    }
}
