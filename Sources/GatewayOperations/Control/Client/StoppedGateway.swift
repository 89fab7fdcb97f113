internal import Foundation
internal import Gateway
public import GatewayConfiguration
public import GatewayCore
internal import GatewayHTTP
internal import GatewayStore
public import GatewaySupport
public import Logging
internal import NIOPosix

/// Carries out requests of operators while no gateway runs. It locks the stores and changes them itself.
public struct StoppedGateway: Sendable {
    let configuration: ServerConfiguration
    let clocks: Clocks
    let logger: Logger

    /// Creates a value for the stores of the configuration.
    public init(configuration: ServerConfiguration, clocks: Clocks = .system, logger: Logger) {
        self.configuration = configuration
        self.clocks = clocks
        self.logger = logger
    }

    /// The reason why nothing is read or changed after an interrupted restore; nil if there was none.
    private var interruption: ControlError? {
        do throws(FileFailure) {
            try RestoreMark.rejectInterrupted(ofLedger: configuration.ledger.file)
            return nil
        } catch {
            return .refused(error.description)
        }
    }

    /// Carries out the request and passes on its results. Deletions at the backend are left to the next start of the
    /// gateway.
    ///
    /// - Parameter requester: The operator, for the journal record.
    /// - Returns: nil if the operation succeeded, else the reason of its failure.
    public func perform(
        _ request: ControlRequest, by requester: Operator, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        if let interruption { return interruption }
        // Only an import is useful before the first start.
        guard
            [ImportRegistrationsOperation.name, ReconcileRegistrationsOperation.name, ImportLedgerOperation.name]
                .contains(request.operation)
                || !ConfiguredStore(configuration).isMissing
        else {
            return .refused(
                "\(configuration.ledger.file) does not exist: no gateway has run with this configuration yet. Nothing was changed."
            )
        }
        let stores: GatewayStores
        let tls: [ClientTLS?]
        do {
            tls = try configuration.backends.map { try $0.tls.map { try CertificateFiles.clientTLS($0) } }
            // Other gateways would go on with what they have in memory.
            var opening = GatewayStores.Opening()
            opening.isExclusive = request.operation == ImportLedgerOperation.name
            stores = try GatewayStores(configuration, opening, clocks: clocks, logger: logger)
        } catch {
            return .unavailable("The stores cannot be opened: \(error.reason)")
        }
        let sweeper = RegistrationSweeper(ledger: stores.ledger, logger: logger)
        let revocation = UserRevocation(
            stores: stores, passwordCache: PasswordCache(clocks: clocks), throttle: LoginThrottle(clocks: clocks),
            sends: IdempotencyStore(clocks: clocks), sweeper: sweeper, logger: logger)
        let operations = ControlOperations(
            StoreOperations(
                ledger: stores.ledger, revocation: revocation, names: configuration.names,
                handles: HotSwappable(configuration.backend.handles),
                hub: HotSwappable(HubRegistrations(configuration: configuration, tls: tls, clocks: clocks)),
                clocks: clocks
            ).all + [
                ExportLedgerOperation(ledger: stores.ledger, texts: stores.texts),
                ImportLedgerOperation(ledger: stores.ledger, texts: stores.texts),
            ],
            journal: stores.journal, logger: logger)
        do {
            let fault = try await carryOut(request, with: operations, by: requester, onItem: onItem)
            await stores.close(logger: logger)
            return fault
        } catch {
            await stores.close(logger: logger)
            throw error
        }
    }

    /// Runs the operation of the request and passes on its results.
    func carryOut(
        _ request: ControlRequest, with operations: ControlOperations, by requester: Operator,
        onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        let (outputs, output) = AsyncStream<ControlOutput>.makeStream()
        let error = await operations.carryOut(request, by: requester) { output.yield($0) }
        output.finish()
        for await output in outputs {
            switch output {
            case .item(let item), .totals(let item): try onItem(item)
            case .next: break
            }
        }
        return error
    }
}

extension Error {
    /// The error in words for an operator.
    var reason: String { OperatorMessage.of(self) }
}

extension StoppedGateway {
    /// Carries out a request that changes nothing, on a copy of the ledger: lists, and `explain`, which assumes a
    /// gateway that starts now with all limits unused.
    ///
    /// Nothing is written beside the stores and the journal is not opened. Authenticators are created for `explain`
    /// alone. One whose files cannot be read is logged, and reports that it does not know whether it has the user's
    /// account.
    ///
    /// - Returns: nil if all results were passed on, else the reason of the failure.
    public func read(
        _ request: ControlRequest, by requester: Operator, onItem: (JSONValue) throws -> Void
    ) async throws -> ControlError? {
        if let interruption { return interruption }
        let isDryRun = request.operation == ExplainOperation.name
        let store = ConfiguredStore(configuration)
        let ledger: StoredLedger
        let sessions: SessionRegister
        let temporary = FileManager.default.temporaryDirectory.appending(path: "notify-gateway-\(UUID())")
        defer { try? FileManager.default.removeItem(at: temporary) }
        let found: (ledger: StoredLedger, copy: LedgerCopy?)?
        do throws(LedgerUnavailable) {
            found = try store.openForReading(clocks: clocks)
        } catch {
            return .unavailable("The ledger cannot be read: \(error.detail)")
        }
        defer { found?.copy?.remove() }
        // A gateway that never ran has no ledger, and `explain` does not create one.
        guard found != nil || isDryRun else {
            return .refused(
                "\(store.place) does not exist: no gateway has run with this configuration yet, so there is nothing to "
                    + "list.")
        }
        do {
            ledger =
                try found?.ledger
                ?? StoredLedger(
                    file: temporary.appending(path: "ledger.sqlite").path(percentEncoded: false),
                    limits: GatewayStores.ledgerLimits(configuration))
            if isDryRun, found != nil,
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
            digester: KeyedDigester(key: Secret(RandomBytes.make(32))))
        let operations = ControlOperations(
            [
                ExplainOperation(dryRun: HotSwappable(dryRun), names: configuration.names),
                ListTokensOperation(sessions: sessions, names: configuration.names),
                ListRegistrationsOperation(ledger: ledger, names: configuration.names),
            ], journal: NoOpJournal(), logger: logger)
        let fault = try await carryOut(request, with: operations, by: requester, onItem: onItem)
        do throws(LedgerUnavailable) {
            try ledger.close()
        } catch {
            logger.error("Ledger was not closed cleanly", metadata: ["detail": "\(error.detail)"])
        }
        return fault
    }
}

extension StoppedGateway {
    /// Returns what the configured authenticators of tokens say of a token. They are created for this call, and read
    /// the keys of providers from the network. Revocations are not known.
    public func lookUpToken(_ token: Secret) async -> TokenLookup {
        await makeChain(revocations: EmptyRevocationList()) { $0.credentialKinds.contains(.bearer) }
            .lookUpToken(token, from: .control)
    }

    private func makeChain(
        revocations: any RevocationList, where isWanted: (ConfiguredPlugin) -> Bool = { _ in true }
    ) async -> AuthenticatorChain {
        var wanted = configuration
        wanted.authenticators.removeAll { !isWanted($0) }
        return await AuthenticatorAssembly(
            of: wanted, pool: BlockingPool(threads: .singleton, capacity: 256), clocks: clocks, logger: logger
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
