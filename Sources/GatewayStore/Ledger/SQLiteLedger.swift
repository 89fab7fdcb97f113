internal import GRDB
public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// The registration ledger in an SQLite file, with its key and its lock in files beside it.
///
/// Safe to use from any thread: GRDB's queues access the database, and a caller resumes on its own executor. One
/// process at a time may open the ledger.
public final class SQLiteLedger: Sendable {
    /// The ledger's limits.
    public struct Limits: Sendable, Hashable {
        /// The maximum number of a user's registrations. Beyond it those not seen for the longest time are marked for
        /// deletion.
        public var registrations = 20
        /// The maximum number of times that one user may take over a handle from others within 24 hours.
        public var ownershipTransfers = 20
        /// The maximum number of ids that a user may have requested without registering a device. The oldest are
        /// removed first.
        public var reservations = 32
        /// The maximum number of labels stored for a user. The least recently used are removed first.
        public var labels = 256
        /// The maximum number of calls that wait for one handle or registration.
        public var maximumWaitersPerKey = 64
        /// The maximum total number of waiting calls.
        public var maximumWaiters = 4096
        /// How long an imported registration is kept while its owner's device has not registered again.
        public var confirmation = Duration.seconds(30 * 86_400)

        /// Creates the default limits.
        public init() {}
    }

    /// The period over which transfers of a handle are counted, in microseconds: 24 hours.
    static let ownershipTransferPeriod: Int64 = 86_400_000_000
    /// How long an unconfirmed deletion is repeated, in microseconds: 24 hours.
    static let confirmationPeriod: Int64 = 86_400_000_000

    let database: DatabasePool
    let reads: BatchedRead<LedgerTables>
    let commits: GroupCommit<LedgerTables>
    let renewals: RenewalBuffer
    let digester: HandleDigester
    let claims: KeyLocks
    let health: LedgerHealth
    /// The current limits. The limits of waiting calls are fixed when the ledger is opened.
    public var limits: Limits {
        get { present.withLock(\.self) }
        set { present.withLock { $0 = newValue } }
    }
    private let present: Mutex<Limits>
    let file: String
    private let lock: LockFile

    /// Opens the ledger, or creates a new one. Blocks; called at startup.
    ///
    /// A new ledger gets mode 0600, and missing directories get 0700. Throws if the file is accessible to others, is
    /// not a ledger, has a newer version, lacks its key, is in use by another process, or is damaged after an unclean
    /// shutdown. Throws if a ledger that existed before is missing or empty.
    ///
    /// - Parameter proofLifetime: How long a commit proves that the next one will succeed, so that the backend may be
    ///   called.
    public init(
        file: String, limits: Limits = Limits(), now: WallTime = Clocks.system.wall(),
        proofLifetime: Duration = .seconds(1)
    ) throws(LedgerUnavailable) {
        do {
            try PrivateFiles.makeDirectory(PrivateFiles.parent(of: file))
            lock = try LockFile(file + ".lock")
            let state = try LedgerState.read(Self.stateFile(of: file))
            try PrivateFiles.makeFile(file)
            database = try DatabasePool(path: file, configuration: Self.connection)
            let version = try database.read { try LedgerSchema.version(of: $0) }
            guard version <= LedgerSchema.version else { throw LedgerSchema.tooNew(version) }
            try Self.rejectLoss(of: file, state, version: version)
            try Self.rejectDamage(database, state)
            digester = try HandleDigester(keyFile: Self.keyFile(of: file), mayCreate: version == 0)
            let fingerprint = try digester.fingerprint()
            if version > 0, version < LedgerSchema.version {
                try Self.copy(database, to: "\(file).version-\(version)")
            }
            try database.writeWithoutTransaction { try Self.makeDurable($0) }
            try database.write { try LedgerSchema.prepare($0, fingerprint: fingerprint, now: now) }
            try Self.markOpen(database, file, state, now: now)
        } catch {
            throw Self.openingFailure(error, file)
        }
        health = LedgerHealth(proofLifetime: proofLifetime)
        reads = BatchedRead(database, health: health)
        commits = GroupCommit(database, health: health)
        renewals = RenewalBuffer(commits)
        claims = KeyLocks(maximumWaitersPerKey: limits.maximumWaitersPerKey, maximumWaiters: limits.maximumWaiters)
        present = Mutex(limits)
        self.file = file
    }

    /// Writes what is buffered, waits for running operations, closes the database and releases the lock. Later operations on the ledger throw.
    /// Blocks.
    public func close() throws(LedgerUnavailable) {
        renewals.write()
        // If this fails, the ledger counts as not closed and the next start checks it.
        let state = health.fault == nil ? try? Self.markClosed(database, file) : nil
        do { try database.close() } catch { throw LedgerUnavailable(describing: error) }
        if var state {
            state.isClosed = true
            try? state.write(Self.stateFile(of: file))
        }
        lock.release()
    }

    /// Returns the path of the key of a ledger's handles.
    static func keyFile(of file: String) -> String { file + ".key" }

    private static var connection: Configuration {
        var configuration = Configuration()
        configuration.label = "ledger"
        configuration.foreignKeysEnabled = true
        // One for calls, one for a backup, and one for another long read.
        configuration.maximumReaderCount = 3
        // Other processes may read the file with SQLite's own tools.
        configuration.busyMode = .timeout(5)
        return configuration
    }

    /// Copies the ledger before a migration, so that an earlier version can still read it.
    private static func copy(_ database: DatabasePool, to path: String) throws {
        let part = path + ".part"
        try PrivateFiles.makeFile(part)
        let copy = try DatabaseQueue(path: part)
        try database.backup(to: copy)
        try copy.close()
        try PrivateFiles.rename(part, to: path)
    }

    /// Makes every commit durable before it is acknowledged.
    static func makeDurable(_ database: Database) throws {
        // Opening a pool sets this to NORMAL after applying the configuration.
        try database.execute(sql: "PRAGMA synchronous = FULL")
        guard try synchronous(database) == 2, try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal" else {
            throw LedgerUnavailable("SQLite rejected synchronous=FULL with a write-ahead log")
        }
    }

    /// Returns SQLite's durability level of a commit; 2 is FULL.
    static func synchronous(_ database: Database) throws -> Int? {
        try Int.fetchOne(database, sql: "PRAGMA synchronous")
    }
}

extension LedgerUnavailable {
    /// Converts an error of SQLite or of the file system to a message for operators.
    init(describing error: any Error) {
        switch error {
        case let known as LedgerUnavailable: self = known
        case let error as DatabaseError: self.init(DatabaseMessage.text(for: error))
        default: self.init("\(error)")
        }
    }
}
