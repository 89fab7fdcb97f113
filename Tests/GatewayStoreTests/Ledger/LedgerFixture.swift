import GRDB
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

/// A ledger in a separate directory, with helpers for the tests.
struct LedgerFixture {
    let directory: TemporaryDirectory
    let ledger: StoredLedger

    init(
        _ directory: TemporaryDirectory = TemporaryDirectory(), limits: StoredLedger.Limits = .init(),
        proofLifetime: Duration = .seconds(86_400)
    ) throws {
        self.directory = directory
        // A commit counts as a proof for the whole test, so that no test depends on its speed.
        switch StoreKind.current {
        case .sqlite:
            ledger = try StoredLedger(
                file: directory("ledger.sqlite"), limits: limits, now: Self.noon, proofLifetime: proofLifetime)
        case .postgreSQL:
            let store = try StoreKind.openPostgreSQL(directory)
            ledger = StoredLedger(store, digester: store.digester, limits: limits, proofLifetime: proofLifetime)
        }
    }

    /// Makes all writes fail as on a full disk, or succeed again.
    func refuseWrites(_ refuses: Bool) async throws {
        try await ledger.sqlite.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA query_only = \(refuses ? 1 : 0)")
        }
    }

    /// Returns the number of rows that were written so far; in PostgreSQL those for other gateways, of which each session
    /// that begins or ends has one.
    func changedRows() async throws -> Int {
        let isSQLite = StoreKind.current == .sqlite
        return try await ledger.write { tables in
            Int(
                try tables.integer(sql: isSQLite ? "SELECT total_changes()" : "SELECT count(*) FROM change") ?? 0)
        }.get()
    }

    static let alice = UserName(canonical: "alice")!  // A valid name.
    static let bob = UserName(canonical: "bob")!  // A valid name.
    static let eve = UserName(canonical: "eve")!  // A valid name.
    static let noon = WallTime(seconds: 1_795_000_000)

    static func id(_ number: Int) -> RegistrationID {
        RegistrationID("\(number)-\(number)-1")!  // Digits and two hyphens.
    }

    static func handle(_ number: Int, _ service: PushService = .apns) throws -> DeviceHandle {
        switch service {
        case .wns, .mpns: try HandleRules().handle("https://db5.notify.windows.com/?token=\(number)", of: .wns)
        case .apns, .fcm: try HandleRules().handle(String(repeating: "A", count: 30) + "\(number + 10)", of: service)
        }
    }

    /// Makes a POST; the backend returns the given id.
    func create(
        _ user: UserName, _ handle: DeviceHandle?, given id: RegistrationID, at time: WallTime = noon
    ) async throws -> LedgerDecision {
        let claim = try await ledger.begin(.create(user: user, handle: handle), now: time)
        let decision = claim.decision
        let asked = decision == .queryWithHandle ? handle : nil
        try await ledger.finish(claim, with: .reserved(id, handle: asked), now: time)
        return decision
    }

    /// Makes a PUT; `fresh` is the id that the backend returns where it is asked for one.
    @discardableResult
    func update(
        _ user: UserName, _ label: RegistrationID, _ handle: DeviceHandle, by account: Account? = nil,
        fresh: RegistrationID? = nil, lost: Bool = false, at time: WallTime = noon
    ) async throws -> LedgerDecision {
        let claim = try await ledger.begin(
            .update(user: user, label: label, handle: handle, account: account), now: time)
        let decision = claim.decision
        let known: RegistrationID? =
            switch decision {
            case .own(let id), .rotation(let id), .ownershipTransfer(let id, _): id
            default: nil
            }
        if decision == .tooManyOwnershipTransfers { return decision }
        let id = try #require(lost ? fresh : known ?? fresh)
        try await ledger.finish(claim, with: .registered(id, replacing: lost ? known : nil), now: time)
        return decision
    }

    func delete(_ user: UserName, _ label: RegistrationID) async throws -> LedgerDecision {
        let claim = try await ledger.begin(.delete(user: user, label: label), now: Self.noon)
        let decision = claim.decision
        if case .owned(let id) = decision { try await ledger.finish(claim, with: .deleted(id), now: Self.noon) }
        return decision
    }

    /// Returns the decision on a request and releases the claim at once.
    func look(_ request: LedgerRequest, at time: WallTime = noon) async throws -> LedgerDecision {
        let claim = try await ledger.begin(request, now: time)
        return claim.decision
    }

    /// Removes everything that the schema versions 5 and 6 have added, so that the next start migrates the ledger. Must
    /// cover all of `LedgerSchema.tablesSince5` and `tablesSince6`.
    static func undoSchema5(_ database: Database) throws {
        try database.execute(
            sql: """
                DROP TABLE provider_logout;
                ALTER TABLE session DROP COLUMN provider_session;
                ALTER TABLE session DROP COLUMN issuer;
                DROP TABLE update_attempt;
                DROP INDEX registration_without_upstream;
                ALTER TABLE registration DROP COLUMN upstream;
                ALTER TABLE stray DROP COLUMN upstream;
                ALTER TABLE registration DROP COLUMN undeleted;
                ALTER TABLE stray DROP COLUMN undeleted;
                ALTER TABLE stray DROP COLUMN owner;
                DROP INDEX hand_over_of_former;
                ALTER TABLE hand_over DROP COLUMN owner;
                ALTER TABLE hand_over DROP COLUMN former;
                DROP TABLE journal_checkpoint;
                DROP INDEX registration_import_unconfirmed;
                ALTER TABLE registration DROP COLUMN import_unconfirmed;
                PRAGMA user_version = 4;
                """)
    }

    /// The ids, owners and states of all registrations, as text.
    func content() async throws -> [String] {
        try await ledger.allRegistrations().map { "\($0.id) \($0.owner) \($0.state)" }
    }
}

extension StoredLedger {
    /// The connections to the SQLite file.
    var sqlite: DatabasePool { sqliteFile.sqlite.pool }
    /// The path of the SQLite file.
    var file: String { sqliteFile.path }

    // Only for tests over SQLite alone.
    private var sqliteFile: SQLiteLedgerFile { storage as! SQLiteLedgerFile }
}
