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
        case .imported(let unsound, let unconfirmed):
            joined([unsound > 0 ? self.unsound(unsound) : nil, unconfirmed > 0 ? self.unconfirmed(unconfirmed) : nil])
        }
    }

    private static func unsound(_ count: Int) -> String {
        "\(count) \(count == 1 ? "registration" : "registrations") from before the gateway "
            + "\(count == 1 ? "is" : "are") unsound: V5 and V6 are closed for all others only "
            + "(run \"registrations import --purge\", or set ledger.migrated)"
    }

    private static func unconfirmed(_ count: Int) -> String {
        "\(count) imported \(count == 1 ? "registration is" : "registrations are") unconfirmed: whoever made "
            + "\(count == 1 ? "it" : "them") before the gateway may have used another user's name (V6). Each is deleted "
            + "unless its device registers again within ledger.confirm-imported-within (\"registrations list\" shows them)"
    }

    private static func joined(_ sentences: [String?]) -> String? {
        let sentences = sentences.compactMap(\.self)
        return sentences.isEmpty ? nil : sentences.joined(separator: "; ")
    }
}
