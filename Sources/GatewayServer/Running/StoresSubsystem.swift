internal import GatewayConfiguration
internal import GatewayOperations
internal import GatewayStore
internal import Logging
internal import ServiceLifecycle

/// Journal, ledger and sessions: opened before anything reads them, closed after everything that writes them.
struct StoresSubsystem: ReloadParticipant {
    let stores: GatewayStores
    /// The history of this gateway's journal.
    let history: RecordedHistory
    /// The history that users and operators see: that of all gateways that share the store, or of this journal.
    var calls: any CallHistory {
        if let shared { return shared.history }
        return history
    }
    /// The numbers of the same calls.
    var statistics: any CallStatistics {
        if let shared { return shared.history }
        return history.statistics
    }
    /// Whether other gateways may share the store.
    var isShared: Bool { shared != nil }
    /// The records of all gateways that share the store, for streams; nil if there is only this one.
    var feed: SharedJournalFeed? { shared?.feed }
    private let shared: (history: SharedHistory, feed: SharedJournalFeed)?
    /// The readiness of the gateway, which depends on whether the stores can be written.
    let readiness: Readiness
    /// Monitors the ledger.
    let monitor: LedgerMonitor
    private let expiries: [any Service]
    private let journals: SharedJournalMaintenance?
    private let logger: Logger

    /// Opens the stores.
    init(_ context: ServerContext, _ permissions: StartPermissions) throws {
        logger = context.logger
        var opening = GatewayStores.Opening()
        opening.acceptsIdentityChange = permissions.contains(.identityChange)
        opening.restore = permissions.contains(.restoredSessions) ? .kept : .ended
        opening.isRestored = permissions.contains(.restoredStore)
        stores = try GatewayStores(context.configuration, opening, clocks: context.clocks, logger: logger)
        history = RecordedHistory(
            AuditTrail(
                directory: context.configuration.journal.directory,
                minimumFree: context.configuration.journal.minimumFree, seal: stores.indexSeal),
            followers: stores.followers,
            sessions: stores.sessions, clocks: context.clocks, logger: logger)
        let section = context.configuration.journal
        journals = stores.journalCopy.map { [stores] copy in
            SharedJournalMaintenance(
                copy, stores.journal, keep: section.keep,
                clocks: context.clocks, logger: context.logger)
        }
        let sessions = stores.sessions
        shared = context.configuration.store.map { settings in
            (
                SharedHistory(settings, sessions: sessions, clocks: context.clocks),
                SharedJournalFeed(settings, clocks: context.clocks)
            )
        }
        readiness = stores.readiness(clocks: context.clocks)
        monitor = LedgerMonitor(ledger: stores.ledger, logger: logger)
        let texts = stores.texts.map { SecureTextExpiry($0, sessions: sessions, logger: context.logger) }
        let keyedSends = stores.keyedSendRegister.map { KeyedSendExpiry($0, logger: context.logger) }
        let counts = stores.sharedCounts.map { SharedStatisticsUpdate($0, logger: context.logger) }
        expiries = [texts as (any Service)?, keyedSends, journals, counts].compactMap(\.self)
    }

    /// The services of the stores.
    var services: [any Service] { [monitor] + expiries }

    func adopt(_ configuration: ServerConfiguration, _ made: AuthenticatorAssembly.Made) async {
        stores.adopt(configuration)
        journals?.setKeep(configuration.journal.keep)
    }

    /// Closes the history and the stores.
    func close() async {
        history.close()
        shared?.history.close()
        shared?.feed.close()
        await stores.close(logger: logger)
    }
}
