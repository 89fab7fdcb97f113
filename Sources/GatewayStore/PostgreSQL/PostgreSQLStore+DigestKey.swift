package import GatewayCore
package import GatewaySupport

extension PostgreSQLStore {
    private static let digestKeyProperty = "digest-key-fingerprint"

    /// Returns whether a gateway has recorded its key of message digests in the store, so that all others need the same
    /// one. Blocks; called at startup.
    package func hasDigestKey() throws(LedgerUnavailable) -> Bool {
        do { return try postgreSQL.read(Self.digestKeyFingerprint) != nil } catch {
            throw postgreSQL.unavailable(error)
        }
    }

    /// Records the key of message digests in the store if none is recorded, and compares it otherwise: with different keys,
    /// gateways would not recognize each other's idempotency keys. Blocks; called at startup.
    ///
    /// - Parameter file: The file of the key, for the message.
    /// - Throws: If the store has another key, or cannot be used.
    package func verify(_ digester: KeyedDigester, keyFile file: String) throws(LedgerUnavailable) {
        guard let own = digester.digest(Array("fingerprint of the key of message digests".utf8)) else {
            throw LedgerUnavailable("libcrypto cannot derive the fingerprint of the key in \(file)")
        }
        do {
            let known = try postgreSQL.write { transaction in
                try transaction.execute(
                    sql: "INSERT INTO property (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING",
                    arguments: [Self.digestKeyProperty, own.bytes])
                return try Self.digestKeyFingerprint(transaction)
            }
            guard known == own.bytes else {
                throw LedgerUnavailable(
                    "\(file) is not the key of message digests of \(settings.name); copy the file from a gateway that "
                        + "uses the store")
            }
        } catch {
            throw postgreSQL.unavailable(error)
        }
    }

    private static func digestKeyFingerprint(_ transaction: any SQLTransaction) throws -> [UInt8]? {
        try transaction.firstRow(sql: "SELECT value FROM property WHERE name = ?", arguments: [digestKeyProperty])?
            .required("value", as: [UInt8].self)
    }
}
