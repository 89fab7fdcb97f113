internal import Foundation
internal import Gateway
public import GatewayConfiguration
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import Logging

/// The database of registrations and sessions that a configuration names: an SQLite file or PostgreSQL.
public struct ConfiguredStore: Sendable {
    let configuration: ServerConfiguration

    /// Creates a value for the store of the configuration. Opens nothing.
    public init(_ configuration: ServerConfiguration) { self.configuration = configuration }

    /// The place of the database, for messages.
    var place: String { configuration.store?.name ?? configuration.ledger.file }

    /// Whether the store is a file that does not exist yet.
    var isMissing: Bool {
        configuration.store == nil && !FileManager.default.fileExists(atPath: configuration.ledger.file)
    }

    /// Opens the store, or creates it. Blocks; waits for a process that uses a store in PostgreSQL alone.
    ///
    /// - Parameter isExclusive: Whether no other gateway may use a store in PostgreSQL. A file has one user anyway.
    func open(isExclusive: Bool, clocks: Clocks, logger: Logger) throws(LedgerUnavailable) -> OpenStore {
        let limits = GatewayStores.ledgerLimits(configuration)
        guard let settings = configuration.store else {
            let ledger = try StoredLedger(file: configuration.ledger.file, limits: limits, now: clocks.wall())
            return OpenStore(ledger: ledger, postgreSQL: nil)
        }
        let use =
            isExclusive
            ? PostgreSQLStore.Use.exclusive
            : .shared { host in
                logger.notice("Waiting for a process that uses the store alone", metadata: ["host": "\(host)"])
            }
        let store = try PostgreSQLStore(settings, file: configuration.ledger.file, use: use, clocks: clocks)
        return OpenStore(ledger: StoredLedger(store, limits: limits), postgreSQL: store)
    }

    /// Opens a state of the store that a gateway may use, for reading: a copy of the file, or PostgreSQL itself. Blocks.
    ///
    /// - Returns: Nil if there is no store.
    func openForReading(clocks: Clocks) throws(LedgerUnavailable) -> (ledger: StoredLedger, copy: LedgerCopy?)? {
        let limits = GatewayStores.ledgerLimits(configuration)
        if let settings = configuration.store {
            let store = try PostgreSQLStore(settings, file: configuration.ledger.file, use: .reading, clocks: clocks)
            return (StoredLedger(store, limits: limits), nil)
        }
        guard let copy = try LedgerCopy(of: configuration.ledger.file) else { return nil }
        do throws(LedgerUnavailable) {
            return (try StoredLedger(file: copy.file, limits: limits), copy)
        } catch {
            copy.remove()
            throw error
        }
    }
}

/// An open store.
struct OpenStore {
    let ledger: StoredLedger
    /// The store in PostgreSQL; nil for a file.
    let postgreSQL: PostgreSQLStore?

    /// Returns whether other gateways may have used the store with a key of message digests. Blocks.
    func hasDigestKey() throws(LedgerUnavailable) -> Bool { try postgreSQL?.hasDigestKey() ?? false }

    /// Opens the register of sends with an idempotency key; nil for a file. Throws if the store is used with another key of
    /// message digests. Blocks.
    func keyedSends(_ digester: KeyedDigester, keyFile: String) throws(LedgerUnavailable) -> PostgreSQLKeyedSends? {
        guard let postgreSQL else { return nil }
        try postgreSQL.verify(digester, keyFile: keyFile)
        return PostgreSQLKeyedSends(postgreSQL)
    }

    /// Returns the key of the debts that nodes share, which the first node creates; nil without PostgreSQL. Blocks.
    func debtKey() throws(LedgerUnavailable) -> [UInt8]? {
        guard let postgreSQL else { return nil }
        return try PostgreSQLDebts.digestKey(in: postgreSQL, length: DebtSharing.keyLength)
    }

    /// Opens the texts of secure sends; nil if there are none. Those of a former configuration are opened too, so that
    /// they still expire and end with the account of their recipient. Blocks.
    func texts(_ configuration: ServerConfiguration) throws(LedgerUnavailable) -> StoredSecureTexts? {
        let isUsed = configuration.sends.secure != nil
        if let postgreSQL {
            let exists = try postgreSQL.hasTexts()
            guard isUsed || exists else { return nil }
            return try StoredSecureTexts(postgreSQL, bounds: configuration.sends.bounds)
        }
        let file = StoredSecureTexts.path(ofLedger: configuration.ledger.file)
        guard isUsed || StoredSecureTexts.exists(file) else { return nil }
        return try StoredSecureTexts(file: file, bounds: configuration.sends.bounds)
    }
}
