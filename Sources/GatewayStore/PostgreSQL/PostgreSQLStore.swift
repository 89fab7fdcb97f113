internal import Dispatch
package import GatewayCore
package import GatewaySupport
internal import Glibc
package import PostgreSQLClient

/// A store in PostgreSQL: registrations, sessions, and the texts of secure sends. Several gateways may use it.
///
/// Its local files lie at the path where the ledger's file would be: the lock, the key of device handles, and the name of
/// this installation.
package final class PostgreSQLStore: LedgerStorage {
    /// The address of a store, and the number of connections to it.
    package struct Settings: Sendable, Equatable {
        /// The server, the database, the user, and the time limits.
        package var connection: PostgreSQLSettings
        /// The maximum number of connections for reads. Changes use one more; secure sends use as many again.
        package var readers: Int

        /// The servers and the database, for messages.
        package var name: String { connection.name }

        /// Creates settings.
        package init(connection: PostgreSQLSettings, readers: Int = PostgreSQLStore.defaultReaders) {
            self.connection = connection
            self.readers = readers
        }
    }

    /// The use of a store by a process.
    package enum Use {
        /// The process is a gateway beside others.
        ///
        /// - Parameters:
        ///   - patience: How long to wait for a process that uses the store alone.
        ///   - onWait: Called once with the name of that process's machine if there is one.
        case shared(
            patience: Duration = PostgreSQLStore.patience, onWait: @Sendable (_ host: String) -> Void = { _ in })
        /// The process uses the store alone.
        case exclusive
        /// The process reads a store that a gateway may use, and changes nothing.
        case reading
    }

    /// The default number of connections for reads.
    package static let defaultReaders = 4

    /// How long a start waits for a process that uses the store alone: longer than one that was killed stands in the way.
    package static let patience = Duration.microseconds(StoreNode.duration) + .seconds(5)

    let settings: Settings
    let file: String
    let postgreSQL: PostgreSQLDatabase
    /// Derives the keys of the handles with the secret in the local file.
    let digester: HandleDigester
    let node: StoreNode
    private let changes: ChangeFeed
    /// The claims that exclude other gateways; nil for a process that only reads.
    let claims: PostgreSQLClaims?
    /// The lock of the local files; nil for a process that only reads.
    private let lock: LockFile?

    /// Connects to the store. Unless it is for reading, also creates its tables or adds those of this version, and joins the
    /// gateways that use it. Blocks; called at startup.
    ///
    /// - Parameter file: The path where the ledger's file would be.
    /// - Throws: If the server cannot be reached, another process stands in the way, or the store has a newer version or
    ///   another key; for reading, also if there is no store.
    package init(_ settings: Settings, file: String, use: Use, clocks: Clocks) throws(LedgerUnavailable) {
        do {
            if case .reading = use {
                lock = nil
            } else {
                try PrivateFiles.makeDirectory(PrivateFiles.parent(of: file))
                lock = try LockFile(file + ".lock")
                try RestoreMark.rejectInterrupted(ofLedger: file)
            }
            let nodeFile = NodeFile.path(ofLedger: file)
            let known = try NodeFile(file: nodeFile)
            node = StoreNode(
                instance: known.instance, host: HostName.current ?? "unknown", program: ProgramVersion.text,
                clocks: clocks
            ) { newestFence in
                // The next start sees that the store is older, however often others start until then.
                try? known.with(fence: newestFence + StoreNode.startsUntilRestore).write(nodeFile)
            }
            postgreSQL = PostgreSQLDatabase(settings, name: "ledger", node: node, renewsNode: true)
            changes = ChangeFeed(settings, node: node)
            claims = lock == nil ? nil : PostgreSQLClaims(settings.connection, node: node)
            let version = try postgreSQL.read { try PostgreSQLSchema.version(of: $0) }
            if case .reading = use, version == nil {
                throw LedgerUnavailable("there is no store: no gateway has used this database yet")
            }
            digester = try HandleDigester(keyFile: Self.keyFile(of: file), mayCreate: version == nil)
            if lock != nil {
                let fingerprint = try digester.fingerprint()
                try postgreSQL.writeUnchecked("READ COMMITTED") {
                    try PostgreSQLSchema.prepare($0, fingerprint: fingerprint)
                }
                let lastSign = try Self.join(postgreSQL, node, use, known: known.fence)
                try postgreSQL.write { transaction in
                    let tables = LedgerTables(transaction)
                    try tables.recordRestore(isCopy: lastSign != nil, now: clocks.wall())
                    if let lastSign { try tables.store(property: "restored-from", String(lastSign)) }
                }
                // Written last: after a crash before this line, the next start sees the older copy again.
                try known.with(fence: node.fenceNumber).write(nodeFile)
            }
        } catch {
            throw LedgerUnavailable("\(settings.connection.name): \(PostgreSQLDatabase.text(for: error))")
        }
        self.settings = settings
        self.file = file
    }

    /// Returns the path of the key of device handles.
    static func keyFile(of file: String) -> String { file + ".key" }

    /// Returns whether the store has texts of secure sends. Blocks.
    package func hasTexts() throws(LedgerUnavailable) -> Bool {
        do {
            return try postgreSQL.read { try $0.firstRow(sql: "SELECT 1 FROM text LIMIT 1") } != nil
        } catch {
            throw postgreSQL.unavailable(error)
        }
    }

    // MARK: LedgerStorage

    var database: any SQLDatabase { postgreSQL }

    /// The name of the installation: each has a journal of its own.
    var journal: any SQLValueConvertible { node.instance }

    var isCurrent: Bool { node.isValid }

    var lossReason: String? { node.lossReason }

    /// The changes of other gateways; nil for a process that only reads.
    var feed: (any SessionFeed)? { lock == nil ? nil : changes }

    var sharedClaims: (any SharedClaims)? { claims }

    /// Returns nil: the server checks its own files.
    func checkIntegrity() async throws(LedgerUnavailable) -> String? { nil }

    /// Leaves the gateways that use the store, closes the connections and releases the lock.
    func close(isUsable: Bool) throws(LedgerUnavailable) {
        claims?.close()
        guard let lock else { return postgreSQL.close() }
        changes.stop()
        defer { lock.release() }
        // A lost place is another's, and the next start must see an older store as such.
        if node.isLost { return postgreSQL.close() }
        do {
            let released = Result { try postgreSQL.writeUnchecked("SERIALIZABLE") { try node.release($0) } }
            postgreSQL.close()
            let nodeFile = NodeFile.path(ofLedger: file)
            try NodeFile(file: nodeFile).with(fence: released.get()).write(nodeFile)
        } catch {
            throw postgreSQL.unavailable(error)
        }
    }

    // MARK: Start

    /// Joins the gateways that use the store. Returns what ``StoreNode/Acquisition`` says about an older copy.
    private static func join(
        _ database: PostgreSQLDatabase, _ node: StoreNode, _ use: Use, known: Int64
    ) throws -> Int64? {
        let began = node.clocks.monotonic().nanoseconds
        var isReported = false
        while true {
            var isExclusive = false
            if case .exclusive = use { isExclusive = true }
            let result = try database.writeUnchecked("SERIALIZABLE") {
                try node.acquire($0, isExclusive: isExclusive, known: known)
            }
            switch (result, use) {
            case (.acquired(let lastSign), _): return lastSign
            case (.heldBy(let host), .shared(let patience, let onWait))
            where .nanoseconds(node.clocks.monotonic().nanoseconds - began) < patience:
                if !isReported { onWait(host) }
                isReported = true
                usleep(200_000)
            case (.heldBy(let host), _): throw LedgerUnavailable("a process on \(host) uses the store")
            }
        }
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
