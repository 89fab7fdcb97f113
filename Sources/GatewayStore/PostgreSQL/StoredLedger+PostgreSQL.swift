package import GatewayCore

extension StoredLedger {
    /// Creates the ledger of an open store in PostgreSQL.
    package convenience init(_ store: PostgreSQLStore, limits: Limits = Limits()) {
        self.init(store, digester: store.digester, limits: limits, proofLifetime: .seconds(1))
    }
}

extension StoredSecureTexts {
    /// Opens the texts of a store in PostgreSQL. Blocks; called at startup.
    ///
    /// Texts that were sealed under another key stay until they expire, and are not found.
    package convenience init(_ store: PostgreSQLStore, bounds: Bounds = Bounds()) throws(LedgerUnavailable) {
        let storage = try PostgreSQLTexts(store)
        try self.init(storage, cipher: storage.cipher, bounds: bounds) { .random(in: .min ... .max) }
    }
}
