internal import Foundation
internal import GRDB
public import GatewayCore

/// The user names of the owners in a ledger, and the rules that formed these names. Reads the file without locking the
/// ledger, which a gateway may have open.
public struct LedgerNames: Sendable, Hashable {
    /// The stored form of the rules that formed the names; nil if none is stored.
    public let rules: String?
    /// The owners of registrations, sorted.
    public let owners: [UserName]

    /// Reads the names; nil if the ledger does not exist or has an unknown schema version. Writes nothing. Blocks.
    public init?(file: String) throws(LedgerUnavailable) {
        let read = try LedgerCopy.read(file) { database -> (String?, [UserName])? in
            guard (1...LedgerSchema.version).contains(try LedgerSchema.version(of: database)) else { return nil }
            let tables = LedgerTables(database)
            return (try tables.nameRules(), try tables.owners())
        }
        guard let names = read ?? nil else { return nil }
        (rules, owners) = names
    }
}

extension SQLiteLedger {
    /// Returns the stored form of the rules that formed the ledger's user names; nil if none is stored. Blocks; called
    /// at startup.
    public func nameRules() throws(LedgerUnavailable) -> String? {
        do { return try database.read { try LedgerTables($0).nameRules() } } catch { throw .init(describing: error) }
    }

    /// Stores the rules that form user names from now on. Blocks; called at startup.
    public func storeNameRules(_ storedForm: String) throws(LedgerUnavailable) {
        do {
            try database.write {
                try $0.execute(
                    sql: """
                        INSERT INTO property (name, value) VALUES ('name-rules', ?)
                        ON CONFLICT (name) DO UPDATE SET value = excluded.value
                        """,
                    arguments: [Data(storedForm.utf8)])
            }
        } catch {
            throw .init(describing: error)
        }
    }

    /// Returns the owners of all registrations, including reservations, sorted. Blocks; called at startup.
    public func owners() throws(LedgerUnavailable) -> [UserName] {
        do { return try database.read { try LedgerTables($0).owners() } } catch { throw .init(describing: error) }
    }
}

extension LedgerTables {
    /// Returns the stored form of the rules that formed the user names; nil if none is stored.
    func nameRules() throws -> String? {
        try Data.fetchOne(database, sql: "SELECT value FROM property WHERE name = 'name-rules'")
            .flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Returns the owners of all registrations, including reservations, sorted.
    func owners() throws -> [UserName] {
        try String.fetchAll(database, sql: "SELECT DISTINCT owner FROM registration ORDER BY owner").map { text in
            guard let owner = UserName(canonical: text) else {
                throw LedgerUnavailable("the ledger contains an invalid user name")
            }
            return owner
        }
    }
}
