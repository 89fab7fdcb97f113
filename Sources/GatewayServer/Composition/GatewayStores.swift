internal import GatewayCore
internal import GatewayStore
internal import Logging

/// What becomes of the sessions of a ledger that was restored from a copy.
enum RestoredSessions: Sendable, Hashable {
    /// They end, since the copy does not know which of them were ended after it was made.
    case ended
    /// They go on: an operator has asked for it.
    case kept
    /// Nothing is done, and left to the next start of the gateway: for commands.
    case untouched
}

/// The stores of a running gateway: registrations, journal, and the key of its digests.
struct GatewayStores: Sendable {
    let ledger: SQLiteLedger
    let sessions: SessionRegister
    let journal: JournalFile
    let journalMetrics: JournalMetrics
    let messageDigester: KeyedDigester
    /// The sends of the last day that may be presented again.
    let keyedSends: [IdempotentSend]

    /// - Parameters:
    ///   - acceptsIdentityChange: whether names may be made by other rules than those that the ledger holds.
    ///   - restore: what to do where the ledger was restored from a copy.
    init(
        _ configuration: ServerConfiguration, acceptsIdentityChange: Bool = false,
        restore: RestoredSessions = .untouched, clocks: Clocks, logger: Logger
    ) throws {
        let section = configuration.journal
        ledger = try SQLiteLedger(
            file: configuration.ledger.file, limits: Self.ledgerLimits(configuration), now: clocks.wall())
        do {
            try Self.reconcileIdentity(ledger, configuration, isAccepted: acceptsIdentityChange, logger: logger)
            try Self.completeRestore(ledger, restore, journal: section.directory, logger: logger)
            sessions = try SessionRegister(ledger, clocks: clocks)
            var settings = JournalFile.Configuration(directory: section.directory, clocks: clocks, logger: logger)
            settings.minimumFree = section.minimumFree
            settings.signingKey = try SigningKeyFile.open(
                section.signingKey, outside: section.directory, mayCreate: true)
            settings.checkpointCopy = section.checkpointCopy
            settings.keep = section.keep
            settings.keepBytes = section.keepBytes
            settings.ledger = ledger
            journalMetrics = settings.metrics
            journal = try JournalFile(settings)
            let yesterday = WallTime(seconds: clocks.wall().seconds - 86_400)
            keyedSends = try JournalFile.keyedSends(in: section.directory, since: yesterday)
                .filter { [sessions] in !sessions.wasRevoked($0.user, after: $0.at) }
            let digestKey = try DigestKeyFile.open(ledger: configuration.ledger.file, journal: section.directory)
            if let warning = digestKey.warning {
                logger.warning("Duplicate digest key found", metadata: ["detail": "\(warning)"])
            }
            messageDigester = KeyedDigester(key: digestKey.key)
        } catch {
            try? ledger.close()
            throw error
        }
    }

    /// Sees to it that the ledger's names and those of callers are made by the same rules. Before anything else looks at names: by
    /// other rules accounts would seem to be gone, and their registrations would be deleted.
    private static func reconcileIdentity(
        _ ledger: SQLiteLedger, _ configuration: ServerConfiguration, isAccepted: Bool, logger: Logger
    ) throws {
        let change = NameRulesChange(from: try ledger.nameRules(), to: configuration.names)
        if let change {
            let owners = try ledger.owners()
            guard isAccepted else {
                throw ConfigurationError(change.problems(file: configuration.ledger.file, owners: owners))
            }
            logger.warning(
                "User name rules changed",
                metadata: ["owners": "\(owners.count)", "changes": "\(change.effects(on: owners).count)"])
        }
        try ledger.keepNameRules(configuration.names.storedForm)
    }

    /// Readiness by whether the stores can be written.
    func readiness(clocks: Clocks) -> Readiness {
        Readiness(
            stores: [
                StoreHealthCheck("journal", clocks: clocks) { [journal] in await journal.check()?.detail },
                // A check is a commit, so that it is not made for everybody who asks.
                StoreHealthCheck("ledger", reuse: .seconds(1), clocks: clocks) { [ledger] in
                    if let fault = ledger.fault { return fault }
                    return await ledger.check()?.detail
                },
            ]
        ) { [journal] in journal.loss }
    }

    /// Brings a ledger that was restored from a copy up to date, before anything else reads it.
    private static func completeRestore(
        _ ledger: SQLiteLedger, _ restore: RestoredSessions, journal directory: String, logger: Logger
    ) throws {
        guard restore != .untouched, try ledger.isRestored() else { return }
        let latest = try ledger.latestTime() ?? WallTime(seconds: 0)
        var journaled = JournaledRegistrations()
        do throws(JournalUnavailable) {
            journaled = try JournaledRegistrations(directory: directory, since: latest)
        } catch {
            // Restored onto another machine there is no journal.
            logger.warning(
                "Journal has no records for the restored ledger", metadata: ["detail": "\(error.detail)"])
        }
        let completed = try ledger.completeRestore(endingSessions: restore == .ended, journaled)
        logger.warning(
            "Ledger restored from a backup",
            metadata: [
                "sessions-ended": "\(completed.endedSessions)", "sessions-kept": "\(restore == .kept)",
                "registrations-marked": "\(completed.markedRegistrations)",
            ])
    }

    /// How much the ledger of the configuration keeps.
    static func ledgerLimits(_ configuration: ServerConfiguration) -> SQLiteLedger.Limits {
        var limits = SQLiteLedger.Limits()
        limits.registrations = configuration.ledger.registrationsPerUser
        limits.ownershipTransfers = configuration.ledger.ownershipTransfersPerDay
        limits.confirmation = configuration.ledger.confirmation
        return limits
    }

    /// Keeps what changes of a configuration without a restart.
    func adopt(_ configuration: ServerConfiguration) {
        let section = configuration.journal
        ledger.limits = Self.ledgerLimits(configuration)
        journal.adopt(
            JournalFile.Bounds(minimumFree: section.minimumFree, keep: section.keep, keepBytes: section.keepBytes))
    }

    func close(logger: Logger) async {
        await journal.close()
        do throws(LedgerUnavailable) {
            try ledger.close()
        } catch {
            logger.error("Ledger was not closed cleanly", metadata: ["detail": "\(error.detail)"])
        }
    }
}
