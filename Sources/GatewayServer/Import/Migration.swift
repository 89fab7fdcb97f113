internal import GatewayCore
internal import GatewayStore

/// Whether the backend's registrations from before the gateway are known to be sound.
enum Migration {
    /// What is not, in a sentence for operators; nil where there is nothing to say. Blocks.
    ///
    /// Until then a device that had claimed somebody else's tag goes on receiving: V5 and V6 are closed for what is registered
    /// through the gateway, and for nothing older.
    static func warning(_ configuration: ServerConfiguration) -> String? {
        // An embedded backend begins with every start of the gateway, and so has nothing from before it.
        if configuration.ledger.isMigrated || configuration.backend.address == .embedded { return nil }
        do throws(LedgerUnavailable) {
            return warning(try SQLiteLedger.migration(inFile: configuration.ledger.file))
        } catch {
            return "what was imported cannot be read: \(error.detail)"
        }
    }

    /// The same for what is known already.
    static func warning(_ state: MigrationState) -> String? {
        switch state {
        case .notImported:
            "registrations from before the gateway were not imported: V5 and V6 are closed for new registrations only "
                + "(run \"registrations import\", or set ledger.migrated)"
        case .imported(let unsound) where unsound > 0:
            "\(unsound) \(unsound == 1 ? "registration" : "registrations") from before the gateway "
                + "\(unsound == 1 ? "is" : "are") unsound: V5 and V6 are closed for all others only "
                + "(run \"registrations import --purge\", or set ledger.migrated)"
        case .imported:
            nil
        }
    }
}
