internal import Dispatch
package import GatewayCore
package import GatewaySupport
internal import Glibc
package import PostgreSQLClient

/// A store in PostgreSQL: registrations, sessions, and the texts of secure sends. One gateway at a time uses it.
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
        /// The process is the one that uses the store.
        ///
        /// - Parameters:
        ///   - patience: How long to wait for another gateway to end.
        ///   - onWait: Called once with the name of the other gateway's machine if there is one.
        case exclusive(
            patience: Duration = PostgreSQLStore.patience, onWait: @Sendable (_ host: String) -> Void = { _ in })
        /// The process reads a store that a gateway may use, and changes nothing.
        case reading
    }

    /// The default number of connections for reads.
    package static let defaultReaders = 4

    /// How long a start waits for another gateway to end: longer than the right of a gateway that was killed.
    package static let patience = Duration.microseconds(StoreNode.duration) + .seconds(5)

    let settings: Settings
    let file: String
    let postgreSQL: PostgreSQLDatabase
    /// Derives the keys of the handles with the secret in the local file.
    let digester: HandleDigester
    let node: StoreNode
    /// The claims that exclude other gateways; nil for a process that only reads.
    let claims: PostgreSQLClaims?
    /// The lock of the local files; nil for a process that only reads.
    private let lock: LockFile?

    /// Connects to the store. For exclusive use, also creates its tables or adds those of this version, and takes the
    /// right to use it. Blocks; called at startup.
    ///
    /// - Parameter file: The path where the ledger's file would be.
    /// - Throws: If the server cannot be reached, another gateway uses the store, or the store has a newer version or
    ///   another key; for reading, also if there is no store.
    package init(_ settings: Settings, file: String, use: Use, clocks: Clocks) throws(LedgerUnavailable) {
        do {
            if case .exclusive = use {
                try PrivateFiles.makeDirectory(PrivateFiles.parent(of: file))
                lock = try LockFile(file + ".lock")
            } else {
                lock = nil
            }
            var known = try NodeFile(file: NodeFile.path(ofLedger: file))
            node = StoreNode(
                instance: known.instance, host: HostName.current ?? "unknown", program: ProgramVersion.text,
                clocks: clocks)
            postgreSQL = PostgreSQLDatabase(settings, name: "ledger", node: node, renewsNode: true)
            claims = lock == nil ? nil : PostgreSQLClaims(settings.connection, node: node)
            let version = try postgreSQL.read { try PostgreSQLSchema.version(of: $0) }
            if case .reading = use, version == nil {
                throw LedgerUnavailable("there is no store: no gateway has used this database yet")
            }
            digester = try HandleDigester(keyFile: Self.keyFile(of: file), mayCreate: version == nil)
            if case .exclusive(let patience, let onWait) = use {
                let fingerprint = try digester.fingerprint()
                try postgreSQL.writeUnchecked("READ COMMITTED") {
                    try PostgreSQLSchema.prepare($0, fingerprint: fingerprint)
                }
                let fence = try Self.acquire(node, postgreSQL, patience: patience, clocks: clocks, onWait: onWait)
                let isOlder = fence <= known.fence
                try postgreSQL.write { try LedgerTables($0).recordRestore(isCopy: isOlder, now: clocks.wall()) }
                // Written last: after a crash before this line, the next start sees the older copy again.
                known.fence = fence
                try known.write(NodeFile.path(ofLedger: file))
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

    var isLost: Bool { node.isLost }

    var sharedClaims: (any SharedClaims)? { claims }

    /// Throws: the server has its own means.
    func copy(to path: String) throws(LedgerUnavailable) {
        throw LedgerUnavailable("a ledger in PostgreSQL is backed up with the server's means, such as pg_dump")
    }

    /// Returns nil: the server checks its own files.
    func checkIntegrity() async throws(LedgerUnavailable) -> String? { nil }

    /// Gives up the right to use the store, closes the connections and releases the lock.
    func close(isUsable: Bool) throws(LedgerUnavailable) {
        claims?.close()
        guard let lock else { return postgreSQL.close() }
        defer { lock.release() }
        do {
            let released = Result { try postgreSQL.writeUnchecked("SERIALIZABLE") { try node.release($0) } }
            postgreSQL.close()
            var known = try NodeFile(file: NodeFile.path(ofLedger: file))
            known.fence = try released.get()
            try known.write(NodeFile.path(ofLedger: file))
        } catch {
            throw postgreSQL.unavailable(error)
        }
    }

    // MARK: Start

    private static func acquire(
        _ node: StoreNode, _ database: PostgreSQLDatabase, patience: Duration, clocks: Clocks,
        onWait: (String) -> Void
    ) throws -> Int64 {
        let began = clocks.monotonic().nanoseconds
        var isReported = false
        while true {
            switch try database.writeUnchecked("SERIALIZABLE", { try node.acquire($0) }) {
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
