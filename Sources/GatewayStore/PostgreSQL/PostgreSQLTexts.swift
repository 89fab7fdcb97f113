internal import GatewayCore
internal import GatewaySupport

/// The texts of secure sends in PostgreSQL, with connections of their own, so that a burst of texts does not delay
/// registrations. Their key lies in a local file.
struct PostgreSQLTexts: SecureTextStorage {
    let database: any SQLDatabase
    let cipher: SecureTextCipher
    private let key: String

    /// Opens the key, or creates it. The connections are opened when they are needed. Blocks; called at startup.
    init(_ store: PostgreSQLStore) throws(LedgerUnavailable) {
        key = SQLiteSecureTextFile.keyFile(of: SQLiteSecureTextFile.path(ofLedger: store.file))
        do {
            cipher = try SecureTextCipher(key: KeyFile.open(key))
        } catch {
            throw LedgerUnavailable("secure notifications: \(error)")
        }
        database = PostgreSQLDatabase(store.settings, name: "texts", node: store.node, renewsNode: false)
    }

    func keyProblem(texts: Int) -> String? {
        guard texts > 0 else { return nil }
        return
            "\(texts) texts of secure notifications were sealed under another key than that in \(key), and cannot be "
            + "read; copy the key of the machine that sealed them, or let them expire"
    }

    func close() throws(LedgerUnavailable) {
        do { try database.close() } catch { throw database.unavailable(error) }
    }
}
