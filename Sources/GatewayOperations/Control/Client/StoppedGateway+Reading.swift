internal import Foundation
internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayStore
public import GatewaySupport
internal import Logging
internal import NIOPosix

extension StoppedGateway {
    /// Carries out a request that changes nothing, on a copy of the ledger: lists, and `explain`, which assumes a
    /// gateway that starts now with all limits unused.
    ///
    /// Nothing is written beside the stores and the journal is not opened. Authenticators are created for `explain` alone. One whose
    /// files cannot be read is logged, and reports that it cannot tell whether it has the user's account.
    ///
    /// - Returns: nil if all results were passed on, else the reason of the failure.
    public func read(
        _ request: ControlRequest, by operatorID: UInt32, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        let isDryRun = request.operation == ExplainOperation.name
        let copy: LedgerCopy?
        let ledger: SQLiteLedger
        let sessions: SessionRegister
        let temporary = FileManager.default.temporaryDirectory.appending(path: "notify-gateway-\(UUID())")
        defer { try? FileManager.default.removeItem(at: temporary) }
        do {
            copy = try LedgerCopy(of: configuration.ledger.file)
        } catch {
            return .unavailable("The ledger cannot be read: \(error.detail)")
        }
        defer { copy?.remove() }
        // A gateway that never ran has no ledger, and `explain` does not create one.
        guard copy != nil || isDryRun else {
            return .refused(
                "\(configuration.ledger.file) does not exist: no gateway has run with this configuration yet, so there is "
                    + "nothing to list.")
        }
        do {
            ledger = try SQLiteLedger(
                file: copy?.file ?? temporary.appending(path: "ledger.sqlite").path(percentEncoded: false),
                limits: GatewayStores.ledgerLimits(configuration))
            if isDryRun, copy != nil,
                NameRulesChange(from: try ledger.nameRules(), to: configuration.names) != nil
            {
                try ledger.close()
                return .refused(
                    "\"identity\" differs from the rules of the names in the ledger; the gateway would not start.")
            }
            sessions = try SessionRegister(ledger, clocks: clocks)
        } catch {
            return .unavailable("The ledger cannot be read: \(error.reason)")
        }
        let chain = isDryRun ? await makeChain(revocations: sessions) : AuthenticatorChain([])
        let dryRun = DryRun(
            rules: configuration.rules(
                chain: chain, limiter: Limiter(configuration.limits, clocks: clocks),
                throttle: LoginThrottle(clocks: clocks), passwordCache: PasswordCache(clocks: clocks),
                sends: IdempotencyStore(clocks: clocks)),
            ledger: ledger, sessions: sessions, clocks: clocks,
            // The digest of a message is for the journal, which is not written here.
            digester: KeyedDigester(key: Secret((0..<32).map { _ in UInt8.random(in: .min ... .max) })))
        let operations = ControlOperations(
            [
                ExplainOperation(dryRun: HotSwappable(dryRun), names: configuration.names),
                ListTokensOperation(sessions: sessions, names: configuration.names),
                ListRegistrationsOperation(ledger: ledger, names: configuration.names),
            ], journal: NoOpJournal(), logger: logger)
        let fault = try await carryOut(request, with: operations, by: operatorID, onItem: onItem)
        do throws(LedgerUnavailable) {
            try ledger.close()
        } catch {
            logger.error("Ledger was not closed cleanly", metadata: ["detail": "\(error.detail)"])
        }
        return fault
    }
}

extension StoppedGateway {
    private func makeChain(revocations: any RevocationList) async -> AuthenticatorChain {
        await AuthenticatorAssembly(
            of: configuration, pool: BlockingPool(threads: .singleton, capacity: 256), clocks: clocks, logger: logger
        ).makeChain(revocations: revocations)
    }
}

/// A journal that rejects every record.
private struct NoOpJournal: Journal {
    func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {
        throw JournalUnavailable("no journal is open")
    }
    func append(_ record: JournalRecord) {}
    var outage: JournalUnavailable? { JournalUnavailable("no journal is open") }
}
