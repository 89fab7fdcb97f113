internal import Dispatch
internal import GatewayCore
package import GatewaySupport
internal import Glibc
package import PostgreSQLClient

/// A store in PostgreSQL: registrations, sessions, and the texts of secure sends. One gateway at a time uses it.
///
/// Its local files lie at the path where the ledger's file would be: the lock, the key of device handles, and the name of
/// this installation.
package final class PostgreSQLStore: Sendable {
    /// The address of a store, and the number of connections to it.
    package struct Settings: Sendable {
        /// The server, the database, the user, and the time limits.
        package var connection: PostgreSQLSettings
        /// The maximum number of connections for reads. Changes use one more; secure sends use as many again.
        package var readers: Int

        /// Creates settings.
        package init(connection: PostgreSQLSettings, readers: Int = PostgreSQLStore.defaultReaders) {
            self.connection = connection
            self.readers = readers
        }
    }

    /// The default number of connections for reads.
    package static let defaultReaders = 4

    /// How long a start waits for another gateway to end: longer than the right of a gateway that was killed.
    package static let patience = Duration.microseconds(StoreLease.duration) + .seconds(5)

    let settings: Settings
    let file: String
    let database: PostgreSQLDatabase
    let digester: HandleDigester
    let lease: StoreLease
    private let lock: LockFile

    /// Connects to the store, creates its tables or adds those of this version, and takes the right to use it. Blocks;
    /// called at startup.
    ///
    /// - Parameters:
    ///   - file: The path where the ledger's file would be.
    ///   - patience: How long to wait for another gateway to end.
    ///   - onWait: Called once with the name of the other gateway's machine if there is one.
    /// - Throws: If the server cannot be reached, another gateway uses the store, or the store has a newer version or
    ///   another key.
    package init(
        _ settings: Settings, file: String, clocks: Clocks, patience: Duration = PostgreSQLStore.patience,
        onWait: (_ host: String) -> Void = { _ in }
    ) throws(LedgerUnavailable) {
        do {
            try PrivateFiles.makeDirectory(PrivateFiles.parent(of: file))
            lock = try LockFile(file + ".lock")
            var node = try NodeFile(file: NodeFile.path(ofLedger: file))
            lease = StoreLease(instance: node.instance, host: Self.hostName, clocks: clocks)
            database = PostgreSQLDatabase(settings, name: "ledger", lease: lease, renewsLease: true)
            let isNew = try database.read { try PostgreSQLSchema.isMissing($0) }
            digester = try HandleDigester(keyFile: StoredLedger.keyFile(of: file), mayCreate: isNew)
            let fingerprint = try digester.fingerprint()
            try database.writeUnchecked { try PostgreSQLSchema.prepare($0, fingerprint: fingerprint) }
            let fence = try Self.acquire(lease, database, patience: patience, clocks: clocks, onWait: onWait)
            let isOlder = fence <= node.fence
            try database.write { try LedgerTables($0).recordRestore(isCopy: isOlder, now: clocks.wall()) }
            // Written last: after a crash before this line, the next start sees the older copy again.
            node.fence = fence
            try node.write(NodeFile.path(ofLedger: file))
        } catch {
            throw LedgerUnavailable("\(settings.connection.name): \(PostgreSQLDatabase.text(for: error))")
        }
        self.settings = settings
        self.file = file
    }

    /// Gives up the right to use the store, closes the connections and releases the lock. Blocks.
    func close() throws {
        defer { lock.release() }
        let released = Result { try database.writeUnchecked { try lease.release($0) } }
        try database.close()
        let fence = try released.get()
        var node = try NodeFile(file: NodeFile.path(ofLedger: file))
        node.fence = fence
        try node.write(NodeFile.path(ofLedger: file))
    }

    /// Returns the database of the texts of secure sends, with connections of its own, so that a burst of texts does not
    /// delay registrations.
    func makeTexts() -> PostgreSQLDatabase {
        PostgreSQLDatabase(settings, name: "texts", lease: lease, renewsLease: false)
    }

    private static func acquire(
        _ lease: StoreLease, _ database: PostgreSQLDatabase, patience: Duration, clocks: Clocks,
        onWait: (String) -> Void
    ) throws -> Int64 {
        let began = clocks.monotonic().nanoseconds
        var isReported = false
        while true {
            switch try database.writeUnchecked({ try lease.acquire($0) }) {
            case .acquired(let fence): return fence
            case .heldBy(let host):
                guard Duration.nanoseconds(clocks.monotonic().nanoseconds - began) < patience else {
                    throw LedgerUnavailable("the gateway on \(host) uses the store")
                }
                if !isReported { onWait(host) }
                isReported = true
                usleep(200_000)
            }
        }
    }

    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "unknown" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

extension PostgreSQLSettings {
    /// The place and the database, for messages.
    var name: String {
        let place =
            switch address {
            case .unixSocket(let directory, let port): "\(directory):\(port)"
            case .hosts(let hosts, _, _): hosts.map { "\($0.name):\($0.port)" }.joined(separator: ",")
            }
        return "PostgreSQL at \(place), database \(database)"
    }
}
