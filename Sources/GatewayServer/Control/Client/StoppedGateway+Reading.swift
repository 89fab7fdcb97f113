internal import Foundation
internal import Gateway
public import GatewayCore
internal import GatewayStore
internal import Logging
internal import NIOPosix

extension StoppedGateway {
    /// Answers a request that changes nothing, from a copy of the ledger as it lies on disk: lists, and what the gateway would do
    /// with a call if it started now, with all limits full.
    ///
    /// Nothing is written beside the stores, and nothing of the journal is opened. Authenticators are made for `explain` alone; one
    /// whose files cannot be read is logged, and cannot tell whether it has the user's account.
    ///
    /// - Returns: nil where the results were handed over, else why not.
    public func read(
        _ request: ControlRequest, by operatorID: UInt32, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlFault? {
        let isExplaining = request.operation == ExplainOperation.name
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
        // A gateway that never ran has no ledger, and to explain something is no reason to make it one.
        guard copy != nil || isExplaining else {
            return .refused(
                "\(configuration.ledger.file) does not exist: no gateway has run with this configuration yet, so there is "
                    + "nothing to list.")
        }
        do {
            ledger = try SQLiteLedger(
                file: copy?.file ?? temporary.appending(path: "ledger.sqlite").path(percentEncoded: false),
                limits: OpenStores.ledgerLimits(configuration))
            if isExplaining, copy != nil,
                IdentityChange(from: try ledger.nameRules(), to: configuration.names) != nil
            {
                try ledger.close()
                return .refused("Names are made by other rules than those of the ledger; the gateway would not start.")
            }
            sessions = try SessionRegister(ledger, clocks: clocks)
        } catch {
            return .unavailable("The ledger cannot be read: \(error.reason)")
        }
        let chain = isExplaining ? await makeChain(revocations: sessions) : AuthenticatorChain([])
        let explainer = CallExplainer(
            rules: configuration.rules(
                chain: chain, limiter: Limiter(configuration.limits, clocks: clocks),
                throttle: LoginThrottle(clocks: clocks), verdicts: VerdictCache(clocks: clocks),
                sends: SendMemory(clocks: clocks)),
            ledger: ledger, sessions: sessions, clocks: clocks,
            // The digest of a message is for the journal, which is not written.
            digester: KeyedDigester(key: Secret((0..<32).map { _ in UInt8.random(in: .min ... .max) })))
        let operations = ControlOperations(
            [
                ExplainOperation(explainer: Current(explainer), names: configuration.names),
                ListTokensOperation(sessions: sessions, names: configuration.names),
                ListRegistrationsOperation(ledger: ledger, names: configuration.names),
            ], journal: ClosedJournal(), logger: logger)
        let fault = try await hand(over: request, to: operations, by: operatorID, onItem: onItem)
        do throws(LedgerUnavailable) {
            try ledger.close()
        } catch {
            logger.error("The ledger was not closed in order", metadata: ["detail": "\(error.detail)"])
        }
        return fault
    }
}

extension StoppedGateway {
    private func makeChain(revocations: any RevocationList) async -> AuthenticatorChain {
        await AuthenticatorAssembly(
            plugins: configuration.authenticators, names: configuration.names,
            pool: BlockingPool(threads: .singleton, capacity: 256), clocks: clocks, logger: logger
        ).makeChain(revocations: revocations)
    }
}

/// The journal of those who write nothing down.
private struct ClosedJournal: Journal {
    func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {
        throw JournalUnavailable("no journal is open")
    }
    func note(_ record: JournalRecord) {}
    var outage: JournalUnavailable? { JournalUnavailable("no journal is open") }
}
