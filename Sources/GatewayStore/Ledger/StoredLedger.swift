public import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The registration ledger in a database.
///
/// Safe to use from any thread: the database's threads run the statements, and a caller resumes on its own executor.
public final class StoredLedger: Sendable {
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

    let database: any SQLDatabase
    let reads: BatchedRead<LedgerTables>
    let commits: GroupCommit<LedgerTables>
    let renewals: RenewalBuffer
    let digester: HandleDigester
    let claims: ClaimLocks
    let health: LedgerHealth
    /// The current limits. The limits of waiting calls are fixed when the ledger is opened.
    public var limits: Limits {
        get { present.withLock(\.self) }
        set { present.withLock { $0 = newValue } }
    }
    private let present: Mutex<Limits>
    let storage: any LedgerStorage

    /// Creates the ledger of an open storage.
    ///
    /// - Parameters:
    ///   - digester: Derives the keys of the handles. The storage must contain keys of the same one only.
    ///   - proofLifetime: How long a commit proves that the next one will succeed, so that the backend may be called.
    ///   - pause: Waits between two attempts to claim what another gateway has.
    init(
        _ storage: any LedgerStorage, digester: HandleDigester, limits: Limits, proofLifetime: Duration,
        pause: @escaping ClaimLocks.Pause = ClaimLocks.sleep
    ) {
        self.storage = storage
        self.digester = digester
        database = storage.database
        health = LedgerHealth(database, proofLifetime: proofLifetime)
        reads = BatchedRead(database, health: health)
        commits = GroupCommit(database, health: health)
        renewals = RenewalBuffer(commits)
        claims = ClaimLocks(
            KeyLocks(maximumWaitersPerKey: limits.maximumWaitersPerKey, maximumWaiters: limits.maximumWaiters),
            shared: storage.sharedClaims, pause: pause)
        present = Mutex(limits)
    }

    /// Whether the changes of other gateways were read recently. Costs two atomic loads.
    var isCurrent: Bool { storage.isCurrent }

    /// Whether another process has taken the place of this gateway, so that this one can never change the ledger again.
    public var isLost: Bool { storage.lossReason != nil }

    /// The reason why this gateway can never change the ledger again; nil while it can.
    public var lossReason: String? { storage.lossReason }

    /// Writes what is buffered, waits for running operations and closes the storage. Later operations on the ledger
    /// throw. Blocks.
    public func close() throws(LedgerUnavailable) {
        renewals.write()
        try storage.close(isUsable: health.fault == nil)
    }
}

extension LedgerStorage {
    /// True: a file has one user.
    var isCurrent: Bool { true }
    /// Nil: a file has one user.
    var lossReason: String? { nil }
    /// Nil: a file has one user.
    var feed: (any SessionFeed)? { nil }
    /// Nil: a file has one user.
    var sharedClaims: (any SharedClaims)? { nil }
}

/// The database of a ledger, with what depends on the kind of its storage.
protocol LedgerStorage: Sendable {
    /// The database with the ledger's tables in their present version.
    var database: any SQLDatabase { get }

    /// The key of this gateway's journal among the journals whose checkpoints the ledger stores.
    var journal: any SQLValueConvertible { get }

    /// Whether the changes of other gateways were read recently. Costs two atomic loads.
    var isCurrent: Bool { get }

    /// The reason why this gateway can never change the ledger again; nil while it can. Takes a lock briefly.
    var lossReason: String? { get }

    /// The changes of sessions by other gateways; nil for a storage with one user.
    var feed: (any SessionFeed)? { get }

    /// The claims that exclude the other gateways that use the ledger; nil if no other one can.
    var sharedClaims: (any SharedClaims)? { get }

    /// Compares the tables with their indexes. Cancelling the task stops the check early.
    ///
    /// - Returns: A description of the damage; nil without damage.
    func checkIntegrity() async throws(LedgerUnavailable) -> String?

    /// Waits for running operations and closes the database. Blocks.
    ///
    /// - Parameter isUsable: Whether no fault of the ledger is known. If there is one, the next start checks the ledger.
    func close(isUsable: Bool) throws(LedgerUnavailable)
}
