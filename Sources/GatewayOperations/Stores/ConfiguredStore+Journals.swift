internal import GatewayConfiguration
public import GatewayCore
public import GatewayStore
package import GatewaySupport

// Facts in the store by which journals are verified. A gateway may use the store. Functions block.
extension ConfiguredStore {
    /// Returns the journal's last checkpoint in the store; nil if there is none.
    public func journalCheckpoint() throws(LedgerUnavailable) -> StoredCheckpoint? {
        guard configuration.store != nil else { return try StoredCheckpoint(ledger: configuration.ledger.file) }
        return try read { store throws(LedgerUnavailable) in try StoredLedger(store).journalCheckpoint() }
    }

    /// Returns the last line of the journal's copy in the store; nil if there is none, as with a file.
    public func copyHead() throws(LedgerUnavailable) -> CopyHead? {
        guard configuration.store != nil else { return nil }
        return try read { store throws(LedgerUnavailable) in
            try NodeJournalVerification(store, verification()).copyHead()
        }
    }

    /// Compares the journals of the other gateways in the store with the heads that this gateway's journal records; returns
    /// nil for a store with one gateway.
    ///
    /// - Parameters:
    ///   - keys: Further keys that may have signed, as after a planned change of a gateway's key.
    ///   - verifiesLines: Whether all of their lines are verified too.
    ///   - progress: Receives the number of verified lines and the number of all lines.
    package func verifyNodes(
        _ recorded: RecordedHeads, keys: [Ed25519.PublicKey] = [], verifiesLines: Bool,
        progress: (UInt64, UInt64) -> Void = { _, _ in }
    ) throws(LedgerUnavailable) -> [NodeJournalVerification.Result]? {
        guard configuration.store != nil else { return nil }
        return try read { store throws(LedgerUnavailable) in
            var options = verification()
            (options.keys, options.verifiesLines) = (keys, verifiesLines)
            return try NodeJournalVerification(store, options).run(recorded, progress: progress)
        }
    }

    private func verification() -> NodeJournalVerification.Options {
        .init(keep: configuration.journal.keep, now: Clocks.system.wall())
    }

    private func read<Value>(
        _ body: (PostgreSQLStore) throws(LedgerUnavailable) -> Value
    ) throws(LedgerUnavailable) -> Value {
        guard let settings = configuration.store else { throw LedgerUnavailable("the store is a file") }
        let store = try PostgreSQLStore(
            settings, file: configuration.ledger.file, use: .reading, clocks: Clocks.system)
        let found = Result { () throws(LedgerUnavailable) in try body(store) }
        try StoredLedger(store).close()
        return try found.get()
    }
}
