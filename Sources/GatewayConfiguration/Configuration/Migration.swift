package import GatewayCore
package import GatewayStore

/// The warning about registrations that the backend had before the gateway was installed.
package enum Migration {
    /// Returns a sentence for operators if earlier registrations may be invalid; nil if an import has shown that they
    /// are valid, or the operator has declared it. Reads the ledger, and blocks.
    ///
    /// An invalid registration has another user's tag and receives that user's notifications. The gateway prevents that
    /// (V5 and V6 of `docs/vulnerabilities.md`) only for registrations that are made through it.
    package static func warning(_ configuration: ServerConfiguration) -> String? {
        // The state in PostgreSQL is known once the gateway has connected.
        guard isPossible(configuration), configuration.store == nil else { return nil }
        do throws(LedgerUnavailable) {
            return warning(try StoredLedger.migration(inFile: configuration.ledger.file))
        } catch {
            return "the state of imported registrations cannot be read: \(error.detail)"
        }
    }

    /// Returns the sentence of `warning(_:)` for the gateway's open ledger.
    package static func warning(
        _ configuration: ServerConfiguration, _ ledger: StoredLedger
    ) async throws(LedgerUnavailable) -> String? {
        isPossible(configuration) ? warning(try await ledger.migration()) : nil
    }

    /// Returns whether the backend may have registrations that nobody vouches for. An embedded backend starts empty with
    /// the gateway.
    private static func isPossible(_ configuration: ServerConfiguration) -> Bool {
        !configuration.ledger.isMigrated && !configuration.backends.allSatisfy { $0.address == .embedded }
    }

    /// Returns the sentence for the state that the ledger records.
    package static func warning(_ state: MigrationState) -> String? {
        switch state {
        case .notImported:
            "registrations from before the gateway were not imported; V5 and V6 are mitigated for new registrations only "
                + "(run \"registrations import\", or set ledger.migrated)"
        case .imported(let rejected, let unconfirmed):
            joined([
                rejected > 0 ? self.rejected(rejected) : nil, unconfirmed > 0 ? self.unconfirmed(unconfirmed) : nil,
            ])
        }
    }

    private static func rejected(_ count: Int) -> String {
        "\(count) \(count == 1 ? "registration" : "registrations") from before the gateway "
            + "\(count == 1 ? "is" : "are") invalid; V5 and V6 are mitigated for the others only "
            + "(run \"registrations import --purge\", or set ledger.migrated)"
    }

    private static func unconfirmed(_ count: Int) -> String {
        "\(count) imported \(count == 1 ? "registration is" : "registrations are") unconfirmed; before the "
            + "gateway, any user could register another user's name (V6). Each is deleted unless its device registers "
            + "again within ledger.confirm-imported-within (see \"registrations list\")"
    }

    private static func joined(_ sentences: [String?]) -> String? {
        let sentences = sentences.compactMap(\.self)
        return sentences.isEmpty ? nil : sentences.joined(separator: "; ")
    }
}
