internal import GRDB
public import GatewayCore
internal import Synchronization

/// The registration ledger in a SQLite file of its own, with its key and its lock in two files beside it.
///
/// Safe to use from any thread: the database is worked on by GRDB's own queues, and a caller resumes on its own executor.
/// One process at a time may have the ledger open.
public final class SQLiteLedger: Sendable {
    /// How much the ledger keeps and how many may wait.
    public struct Limits: Sendable, Hashable {
        /// How many registrations a user may have; beyond it those go that were not seen for longest.
        public var registrations = 20
        /// How often one user may take a handle over from others within 24 hours.
        public var handOvers = 20
        /// How many ids a user may have been given without registering a device under them; the oldest go first.
        public var reservations = 32
        /// How many labels are remembered for a user; those used longest ago go first.
        public var labels = 256
        /// How many calls may wait for one handle or one registration.
        public var waitersPerKey = 64
        /// How many calls may wait in all.
        public var waitersInAll = 4096
        /// How long an imported registration is kept while its owner's device has not registered again.
        public var confirmation = Duration.seconds(30 * 86_400)

        /// The defaults.
        public init() {}
    }

    /// The time within which hand-overs count together, in microseconds: 24 hours.
    static let handOverPeriod: Int64 = 86_400_000_000
    /// How long a deletion is repeated that the backend does not confirm, in microseconds: 24 hours.
    static let confirmationPeriod: Int64 = 86_400_000_000

    let database: DatabasePool
    let reads: GroupRead
    let commits: GroupCommit
    let digester: HandleDigester
    let claims: ClaimTable
    let health: LedgerHealth
    /// How much of what is kept. Those of waiting calls are as they were when the ledger was opened.
    public var limits: Limits {
        get { present.withLock(\.self) }
        set { present.withLock { $0 = newValue } }
    }
    private let present: Mutex<Limits>
    let file: String
    private let lock: LockFile

    /// Opens the ledger, or makes a new one. Blocks; called at start.
    ///
    /// A new ledger is made with mode 0600, its missing directories with 0700. Throws where the file is open to others, is no
    /// ledger, was written by a newer program, lacks its key, or is open elsewhere; where it is empty although it was in use;
    /// and where it was not closed in order and is damaged.
    ///
    /// - Parameter proofLifetime: for how long a commit proves that the next one succeeds too, so that the backend may be asked.
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
            try Self.refuseLoss(of: file, state, version: version)
            try Self.refuseDamage(database, state)
            digester = try HandleDigester(keyFile: Self.keyFile(of: file), mayCreate: version == 0)
            let fingerprint = try digester.fingerprint()
            if version > 0, version < LedgerSchema.version {
                try Self.copy(database, to: "\(file).version-\(version)")
            }
            try database.writeWithoutTransaction { try Self.makeDurable($0) }
            try database.write { try LedgerSchema.prepare($0, fingerprint: fingerprint, now: now) }
            try Self.begin(database, file, state, now: now)
        } catch {
            throw Self.openingFailure(error, file)
        }
        health = LedgerHealth(proofLifetime: proofLifetime)
        reads = GroupRead(database, health: health)
        commits = GroupCommit(database, health: health)
        claims = ClaimTable(waitersPerKey: limits.waitersPerKey, waitersInAll: limits.waitersInAll)
        present = Mutex(limits)
        self.file = file
    }

    /// Waits for work under way, closes the database and gives it up; whatever is asked of the ledger afterwards throws. Blocks.
    public func close() throws(LedgerUnavailable) {
        // What fails here leaves the ledger unclosed, and the next start looks through it.
        let state = health.fault == nil ? try? Self.end(database, file) : nil
        do { try database.close() } catch { throw LedgerUnavailable(describing: error) }
        if var state {
            state.isClosed = true
            try? state.write(Self.stateFile(of: file))
        }
        lock.release()
    }

    /// Where the key of a ledger's handles lies.
    static func keyFile(of file: String) -> String { file + ".key" }

    private static var connection: Configuration {
        var configuration = Configuration()
        configuration.label = "ledger"
        configuration.foreignKeysEnabled = true
        // What calls ask, a backup, and something else that takes long.
        configuration.maximumReaderCount = 3
        // For whoever looks at the file with SQLite's own tools meanwhile.
        configuration.busyMode = .timeout(5)
        return configuration
    }

    /// Keeps the ledger as the program that wrote it would read it.
    private static func copy(_ database: DatabasePool, to path: String) throws {
        let part = path + ".part"
        try PrivateFiles.makeFile(part)
        let copy = try DatabaseQueue(path: part)
        try database.backup(to: copy)
        try copy.close()
        try PrivateFiles.rename(part, to: path)
    }

    /// Every commit is on disk before it is acknowledged.
    private static func makeDurable(_ database: Database) throws {
        // Opening a pool sets this to NORMAL, after anything that the configuration could say.
        try database.execute(sql: "PRAGMA synchronous = FULL")
        guard try synchronous(database) == 2, try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal" else {
            throw LedgerUnavailable("SQLite does not take synchronous=FULL with a write-ahead log")
        }
    }

    /// SQLite's word for how durable a commit is; 2 is FULL.
    static func synchronous(_ database: Database) throws -> Int? {
        try Int.fetchOne(database, sql: "PRAGMA synchronous")
    }
}

extension LedgerUnavailable {
    /// What SQLite or the file system says, in our words.
    init(describing error: any Error) {
        switch error {
        case let known as LedgerUnavailable: self = known
        case let error as DatabaseError: self.init(DatabaseMessage.of(error))
        default: self.init("\(error)")
        }
    }
}
