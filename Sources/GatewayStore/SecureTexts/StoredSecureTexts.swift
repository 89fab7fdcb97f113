public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// The texts of secure notifications in a database, sealed under a key that is not in it.
///
/// Safe to use from any thread.
public final class StoredSecureTexts: Sendable {
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

    /// The number of texts that were sealed under another key when the store was opened. Readers do not find them.
    public let unreadable: Int

    let database: any SQLDatabase
    let reads: BatchedRead<SecureTextTables>
    let commits: GroupCommit<SecureTextTables>
    let cipher: SecureTextCipher
    let usage: Mutex<SecureTextUsage>
    let storage: any SecureTextStorage
    let randomness: @Sendable () -> UInt64
    private let present: Mutex<Bounds>

    /// Creates the store of an open storage, and counts its texts. Blocks; called at startup.
    ///
    /// Texts that were sealed under another key stay until they expire, and are not found.
    init(
        _ storage: any SecureTextStorage, cipher: SecureTextCipher, bounds: Bounds,
        randomness: @escaping @Sendable () -> UInt64
    ) throws(LedgerUnavailable) {
        database = storage.database
        var usage = SecureTextUsage()
        var unreadable = 0
        try database.readTables { (tables: SecureTextTables) in
            try tables.forEach(key: cipher.fingerprint) { text, isReadable in
                _ = usage.add(text.place, bytes: text.bytes)
                if !isReadable { unreadable += 1 }
            }
        }
        self.usage = Mutex(usage)
        self.unreadable = unreadable
        self.cipher = cipher
        self.storage = storage
        self.randomness = randomness
        let health = LedgerHealth(database, proofLifetime: .seconds(1))
        reads = BatchedRead(database, health: health)
        commits = GroupCommit(database, health: health)
        present = Mutex(bounds)
    }

    /// Waits for running operations and closes the storage. Blocks.
    public func close() throws(LedgerUnavailable) { try storage.close() }

    /// The message about texts that the present key cannot open; nil if there are none.
    public var keyProblem: String? { storage.keyProblem(texts: unreadable) }

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

/// The database of the texts, with what depends on the kind of its storage.
protocol SecureTextStorage: Sendable {
    /// The database with the tables of texts in their present version.
    var database: any SQLDatabase { get }

    /// Returns the message about texts that were sealed under another key; nil for none.
    func keyProblem(texts: Int) -> String?

    /// Waits for running operations and closes the database. Blocks.
    func close() throws(LedgerUnavailable)
}
