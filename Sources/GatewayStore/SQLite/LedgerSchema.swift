internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

/// The ledger's tables and their version, stored in `PRAGMA user_version`.
enum LedgerSchema {
    /// The version that this code reads and writes.
    static let version = 6

    /// Returns the version of the database; 0 for an empty one.
    static func version(of database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
    }

    /// Creates the tables in an empty database or migrates older ones. Throws, and changes nothing, for a newer
    /// version, another key, or tables of another program.
    static func prepare(_ database: Database, fingerprint: KeyedDigest, now: WallTime) throws {
        switch try version(of: database) {
        case 0:
            guard try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") == 0 else {
                throw LedgerUnavailable("the database is not a ledger: it contains tables of another program")
            }
            try database.execute(sql: tables)
            try database.execute(sql: tablesSince2)
            try database.execute(sql: tablesSince3)
            try database.execute(sql: tablesSince4)
            try database.execute(sql: tablesSince5)
            try database.execute(sql: tablesSince6)
            try database.execute(
                sql: "INSERT INTO property (name, value) VALUES ('key-fingerprint', ?)",
                arguments: [Data(fingerprint.bytes)])
            try database.execute(sql: "PRAGMA user_version = \(version)")
        case 1...version:
            let known = try Data.fetchOne(database, sql: "SELECT value FROM property WHERE name = 'key-fingerprint'")
            guard known == Data(fingerprint.bytes) else {
                throw LedgerUnavailable("the key file beside the ledger is not the key of this ledger")
            }
            try migrate(database, now: now)
        case let other:
            throw tooNew(other)
        }
    }

    /// Migrates an older ledger, one version after the other.
    private static func migrate(_ database: Database, now: WallTime) throws {
        if try version(of: database) < 2 { try database.execute(sql: tablesSince2) }
        if try version(of: database) < 3 { try database.execute(sql: tablesSince3) }
        if try version(of: database) < 4 { try database.execute(sql: tablesSince4) }
        if try version(of: database) < 5 {
            try database.execute(sql: tablesSince5)
            try markImported(database, now: now)
        }
        if try version(of: database) < 6 { try database.execute(sql: tablesSince6) }
        try database.execute(sql: "PRAGMA user_version = \(version)")
    }

    /// Returns the error for a ledger that a newer version has written.
    static func tooNew(_ found: Int) -> LedgerUnavailable {
        LedgerUnavailable("the ledger has schema version \(found); this program reads versions up to \(version)")
    }

    /// A handle binds at most one registration. A reservation does not bind: otherwise the first user to request an id
    /// with another user's handle would own the handle.
    private static let tables = """
        CREATE TABLE property (
            name TEXT PRIMARY KEY,
            value BLOB NOT NULL
        ) STRICT;

        CREATE TABLE registration (
            id TEXT NOT NULL PRIMARY KEY,
            owner TEXT NOT NULL,
            service TEXT,
            handle BLOB CHECK (length(handle) = 16),
            state TEXT NOT NULL CHECK (state IN ('reserved', 'live', 'deleting')),
            created INTEGER NOT NULL,
            last_seen INTEGER NOT NULL,
            CHECK ((service IS NULL) = (handle IS NULL)),
            CHECK (state = 'reserved' OR handle IS NOT NULL)
        ) STRICT;
        CREATE UNIQUE INDEX registration_of_handle ON registration (service, handle) WHERE state <> 'reserved';
        CREATE INDEX registration_of_owner ON registration (owner, state);

        CREATE TABLE label (
            "user" TEXT NOT NULL,
            label TEXT NOT NULL,
            registration TEXT NOT NULL
                REFERENCES registration (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
            used INTEGER NOT NULL,
            PRIMARY KEY ("user", label)
        ) STRICT;
        CREATE INDEX label_of_registration ON label (registration);

        CREATE TABLE hand_over (
            service TEXT NOT NULL,
            handle BLOB NOT NULL,
            at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX hand_over_of_handle ON hand_over (service, handle, at);
        CREATE INDEX hand_over_at ON hand_over (at);
        """

    /// Tables of version 2: sessions, revocations and accounts.
    private static let tablesSince2 = """
        ALTER TABLE registration ADD COLUMN reason TEXT;
        CREATE INDEX registration_to_delete ON registration (id) WHERE state = 'deleting';

        CREATE TABLE session (
            id TEXT NOT NULL PRIMARY KEY,
            "user" TEXT NOT NULL,
            login TEXT NOT NULL,
            authenticator TEXT NOT NULL,
            device TEXT,
            began INTEGER NOT NULL,
            ends INTEGER NOT NULL,
            renewed INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX session_of_user ON session ("user");

        CREATE TABLE revoked_token (
            "user" TEXT NOT NULL,
            token TEXT NOT NULL,
            until INTEGER NOT NULL,
            PRIMARY KEY ("user", token)
        ) STRICT;

        CREATE TABLE revoked_user (
            "user" TEXT NOT NULL PRIMARY KEY,
            at INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE account (
            authenticator TEXT NOT NULL,
            "user" TEXT NOT NULL,
            mark BLOB NOT NULL CHECK (length(mark) = 16),
            since INTEGER NOT NULL,
            PRIMARY KEY (authenticator, "user")
        ) STRICT;
        """

    /// Tables of version 3: the imported entries, and the registrations without an owner that are marked for deletion
    /// (`stray`). Several rows of `stray` may have the same handle, and a handle there may be one that the ledger would
    /// not bind.
    private static let tablesSince3 = """
        CREATE TABLE imported (
            id TEXT NOT NULL,
            content BLOB NOT NULL CHECK (length(content) = 16),
            verdict TEXT NOT NULL,
            PRIMARY KEY (id, content)
        ) STRICT;

        CREATE TABLE stray (
            id TEXT NOT NULL PRIMARY KEY,
            service TEXT,
            handle BLOB CHECK (length(handle) = 16),
            reason TEXT NOT NULL,
            CHECK ((service IS NULL) = (handle IS NULL))
        ) STRICT;
        """

    /// Columns of version 4: the account whose login made a registration, NULL if the authenticator's accounts are not
    /// rechecked; and an index of accounts by user.
    private static let tablesSince4 = """
        ALTER TABLE registration ADD COLUMN login TEXT;
        ALTER TABLE registration ADD COLUMN authenticator TEXT CHECK ((authenticator IS NULL) = (login IS NULL));
        CREATE INDEX registration_by_account ON registration (authenticator, owner, login, state)
            WHERE login IS NOT NULL;
        CREATE INDEX account_of_user ON account ("user", since);
        """

    /// Tables and columns of version 5:
    ///
    /// - `update_attempt`: updates sent to the backend whose outcome is unknown, by registration and user.
    /// - `undeleted`: the time since which the backend has not confirmed a deletion.
    /// - `hand_over.owner` and `hand_over.former`: the new owner of a transferred device, and the owner before a series
    ///   of transfers, each within 24 hours of the one before.
    /// - `journal_checkpoint`: the journal's last checkpoint, which reveals whether the journal was deleted or
    ///   replaced.
    /// - `import_unconfirmed`: the time since which an imported registration waits for its owner's device to register
    ///   again; NULL for all others.
    private static let tablesSince5 = """
        CREATE TABLE update_attempt (
            registration TEXT NOT NULL
                REFERENCES registration (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
            "user" TEXT NOT NULL,
            login TEXT,
            authenticator TEXT CHECK ((authenticator IS NULL) = (login IS NULL)),
            at INTEGER NOT NULL,
            PRIMARY KEY (registration, "user")
        ) STRICT;
        CREATE INDEX update_attempt_of_user ON update_attempt ("user");

        ALTER TABLE registration ADD COLUMN undeleted INTEGER;
        ALTER TABLE stray ADD COLUMN undeleted INTEGER;
        ALTER TABLE stray ADD COLUMN owner TEXT;

        ALTER TABLE hand_over ADD COLUMN owner TEXT;
        ALTER TABLE hand_over ADD COLUMN former TEXT;
        CREATE INDEX hand_over_of_former ON hand_over (former) WHERE former IS NOT NULL;

        CREATE TABLE journal_checkpoint (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            number INTEGER NOT NULL CHECK (number > 0),
            hash BLOB NOT NULL CHECK (length(hash) = 32),
            at INTEGER NOT NULL
        ) STRICT;

        ALTER TABLE registration ADD COLUMN import_unconfirmed INTEGER;
        CREATE INDEX registration_import_unconfirmed ON registration (import_unconfirmed)
            WHERE import_unconfirmed IS NOT NULL;
        """

    /// Tables and columns of version 6: the upstream at which a registration was made, NULL if that is not known yet; the
    /// issuer and the session at the identity provider that a session began with, NULL after a login with a password; and
    /// the logouts that providers announced.
    private static let tablesSince6 = """
        ALTER TABLE registration ADD COLUMN upstream TEXT;
        ALTER TABLE stray ADD COLUMN upstream TEXT;
        CREATE INDEX registration_without_upstream ON registration (service) WHERE upstream IS NULL;

        ALTER TABLE session ADD COLUMN issuer TEXT;
        ALTER TABLE session ADD COLUMN provider_session TEXT CHECK (provider_session IS NULL OR issuer IS NOT NULL);

        CREATE TABLE provider_logout (
            issuer TEXT NOT NULL,
            kind TEXT NOT NULL CHECK (kind IN ('session', 'subject', 'subject-without-session')),
            value TEXT NOT NULL,
            at INTEGER NOT NULL,
            PRIMARY KEY (issuer, kind, value)
        ) STRICT;
        """

    /// Marks registrations as unconfirmed that an earlier version imported and whose devices have not registered since.
    /// Their time starts now. All others keep their state.
    private static func markImported(_ database: Database, now: WallTime) throws {
        try database.execute(
            sql: """
                UPDATE registration SET import_unconfirmed = ?
                WHERE state = 'live' AND login IS NULL AND last_seen = created
                    AND id IN (SELECT id FROM imported WHERE verdict = 'bound')
                """,
            arguments: [now.microseconds])
    }
}
