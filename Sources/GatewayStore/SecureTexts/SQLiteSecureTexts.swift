internal import GRDB
public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// The texts of secure notifications in an SQLite file of their own beside the ledger, sealed under a key in a file
/// beside it.
///
/// A file of its own, because SQLite has one writer for each file: a burst of texts does not delay registrations, and the
/// ledger does not grow with them. Safe to use from any thread. One process at a time may open the file.
public final class SQLiteSecureTexts: Sendable {
    /// The bounds of what is stored. A text beyond them is not stored, and its send is rejected.
    public struct Bounds: Sendable, Hashable {
        /// The maximum number of texts.
        public var texts = 1_000_000
        /// The maximum number of bytes of all sealed texts.
        public var bytes = 1 << 30
        /// The maximum number of texts of one recipient.
        public var textsPerUser = 1000
        /// The maximum number of bytes of one recipient's sealed texts.
        public var bytesPerUser = 1 << 20

        /// Creates the default bounds.
        public init() {}
    }

    /// The current bounds.
    public var bounds: Bounds {
        get { present.withLock(\.self) }
        set { present.withLock { $0 = newValue } }
    }

    /// The number of texts that were sealed under another key when the file was opened. Readers do not find them.
    public let unreadable: Int

    let database: DatabasePool
    let reads: BatchedRead<SecureTextTables>
    let commits: GroupCommit<SecureTextTables>
    let cipher: SecureTextCipher
    let usage: Mutex<SecureTextUsage>
    let file: String
    let randomness: @Sendable () -> UInt64
    private let present: Mutex<Bounds>
    private let health: LedgerHealth
    private let lock: LockFile

    /// Returns the path of the texts' database beside the ledger.
    public static func path(ofLedger file: String) -> String { file + ".texts" }

    /// Returns the path of the key of a database of texts.
    static func keyFile(of file: String) -> String { file + ".key" }

    /// Opens the file and its key, or creates them. Blocks; called at startup.
    ///
    /// Texts that were sealed under another key stay until they expire, and are not found.
    public init(
        file: String, bounds: Bounds = Bounds(),
        randomness: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
    ) throws(LedgerUnavailable) {
        do {
            try PrivateFiles.makeDirectory(PrivateFiles.parent(of: file))
            lock = try LockFile(file + ".lock")
            try PrivateFiles.makeFile(file)
            cipher = try SecureTextCipher(key: KeyFile.open(Self.keyFile(of: file)))
            database = try DatabasePool(path: file, configuration: Self.connection)
            try database.writeWithoutTransaction { try SQLiteLedger.makeDurable($0) }
            try database.write { try SecureTextTables.prepare($0) }
            var usage = SecureTextUsage()
            var unreadable = 0
            try database.read { [cipher] database in
                try SecureTextTables(database).forEach(key: cipher.fingerprint) { text, isReadable in
                    _ = usage.add(text.place, bytes: text.bytes)
                    if !isReadable { unreadable += 1 }
                }
            }
            self.usage = Mutex(usage)
            self.unreadable = unreadable
        } catch {
            throw LedgerUnavailable("secure notifications: \(LedgerUnavailable(describing: error).detail) (\(file))")
        }
        health = LedgerHealth(proofLifetime: .seconds(1))
        reads = BatchedRead(database, health: health)
        commits = GroupCommit(database, health: health)
        present = Mutex(bounds)
        self.file = file
        self.randomness = randomness
    }

    /// Waits for running operations, closes the database and releases the lock. Blocks.
    public func close() throws(LedgerUnavailable) {
        do { try database.close() } catch { throw LedgerUnavailable(describing: error) }
        lock.release()
    }

    private static var connection: Configuration {
        var configuration = Configuration()
        configuration.label = "texts"
        // One for calls, and one for a backup.
        configuration.maximumReaderCount = 2
        configuration.busyMode = .timeout(5)
        return configuration
    }

    /// The numbers of stored and reserved texts, and of their bytes.
    public var amount: (texts: Int, bytes: Int) { usage.withLock { ($0.total.texts, $0.total.bytes) } }

    /// Removes all texts of a user, so that a later user with the same name starts without any. Returns once they are
    /// removed on disk.
    public func removeAll(of user: UserName) async throws(LedgerUnavailable) {
        guard usage.withLock({ $0.amount(of: user).texts > 0 }) else { return }
        let removed = try await commits.write { try $0.removeAll(of: user) }.get()
        release(removed)
    }

    /// Removes the texts that have expired, in small steps, so that no send waits for many of them.
    ///
    /// - Returns: The number of removed texts.
    @discardableResult
    public func removeExpired(at now: WallTime) async throws(LedgerUnavailable) -> Int {
        var count = 0
        while true {
            let removed = try await commits.write { try $0.removeExpired(at: now, limit: Self.expiredAtOnce) }.get()
            release(removed)
            count += removed.count
            if removed.count < Self.expiredAtOnce { return count }
        }
    }

    private static let expiredAtOnce = 500

    func release(_ removed: [SecureTextTables.Counted]) {
        if removed.isEmpty { return }
        usage.withLock { usage in for text in removed { usage.remove(text.place, bytes: text.bytes) } }
    }
}
