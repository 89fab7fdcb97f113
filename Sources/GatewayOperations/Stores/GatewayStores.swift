internal import AuditSinks
internal import Foundation
package import GatewayConfiguration
package import GatewayCore
package import GatewayStore
package import GatewaySupport
package import Logging
internal import SegmentArchive

/// The treatment of sessions in a ledger that was restored from a backup.
package enum RestoredSessions: Sendable, Hashable {
    /// The sessions end, because the backup does not know which of them ended after it was made.
    case ended
    /// The sessions stay valid, because an operator has requested it.
    case kept
    /// The restore is left to the next start of the gateway. Used by commands.
    case untouched
}

/// The open stores of a gateway: registrations, sessions, journal, and the key of the journal's digests.
package struct GatewayStores: Sendable {
    package let ledger: StoredLedger
    package let sessions: SessionRegister
    /// The gateways that share the store; nil for a ledger in a file.
    package let nodes: StoreNodes?
    /// The texts of secure sends; nil without secure sends, unless a former configuration had some.
    package let texts: StoredSecureTexts?
    /// The debts of limits that nodes share; nil without PostgreSQL.
    package let debts: PostgreSQLDebts?
    /// The key of their digests; nil without PostgreSQL.
    package let debtKey: [UInt8]?
    package let journal: JournalFile
    /// The seal of the indexes of the journal's segments.
    package let indexSeal: IndexSeal
    package let journalMetrics: JournalMetrics
    /// The durable end of the journal, and what the audit sinks and the archive need of it.
    package let followers: JournalFollowers
    package let messageDigester: KeyedDigester
    /// The register of sends with an idempotency key that gateways share; nil for a store that has none.
    package let keyedSendRegister: PostgreSQLKeyedSends?
    /// The copy of the journal in the store that several gateways share; nil without PostgreSQL.
    package let journalCopy: JournalCopy?
    /// The counts of all gateways' calls in that store; nil without PostgreSQL.
    package let sharedCounts: SharedCounts?
    private let journalDirectory: String
    private let journalIndex: AuditIndex
    package let clocks: Clocks

    /// The decisions of an operator, or of a command, about the opening of the stores.
    package struct Opening: Sendable {
        /// Whether the rules of user names may differ from those in the ledger.
        package var acceptsIdentityChange = false
        /// The treatment of sessions if the ledger was restored from a backup.
        package var restore = RestoredSessions.untouched
        /// Whether an operator knows that it was restored. Otherwise its files show it.
        package var isRestored = false
        /// Whether no other gateway may use the store.
        package var isExclusive = false

        /// Creates the decisions of a command.
        package init() {}
    }

    /// Opens the stores.
    package init(
        _ configuration: ServerConfiguration, _ opening: Opening = Opening(), clocks: Clocks, logger: Logger
    ) throws {
        let section = configuration.journal
        journalDirectory = section.directory
        self.clocks = clocks
        let store = try ConfiguredStore(configuration).open(
            isExclusive: opening.isExclusive, clocks: clocks, logger: logger)
        ledger = store.ledger
        nodes = store.postgreSQL.map { StoreNodes($0, ledger: store.ledger) }
        do {
            try Self.reconcileIdentity(ledger, configuration, isAccepted: opening.acceptsIdentityChange, logger: logger)
            if opening.isRestored { try ledger.recordRestore(now: clocks.wall()) }
            let digestKey = try DigestKeyFile.loadOrCreate(
                ledger: configuration.ledger.file, journal: section.directory, mayCreate: !store.hasDigestKey())
            if let warning = digestKey.warning {
                logger.warning("Duplicate digest key found", metadata: ["detail": "\(warning)"])
            }
            messageDigester = KeyedDigester(key: digestKey.key)
            keyedSendRegister = try store.keyedSends(
                messageDigester, keyFile: DigestKeyFile.path(ofLedger: configuration.ledger.file))
            if opening.restore != .untouched, let pending = try ledger.pendingRestore() {
                try Self.complete(
                    pending, opening.restore, ledger, keyedSendRegister, journal: section.directory, logger: logger)
            }
            if try ledger.awaitsJournals() { keyedSendRegister?.awaitJournals() }
            sessions = try SessionRegister(ledger, clocks: clocks)
            texts = try store.texts(configuration)
            debts = store.postgreSQL.map(PostgreSQLDebts.init)
            debtKey = try store.debtKey()
            if let problem = texts?.keyProblem {
                logger.warning("Texts of secure notifications cannot be read", metadata: ["detail": "\(problem)"])
            }
            var settings = JournalFile.Configuration(directory: section.directory, clocks: clocks, logger: logger)
            settings.minimumFree = section.minimumFree
            if !FileManager.default.fileExists(atPath: section.signingKey),
                try JournalFile.hasSegments(in: section.directory)
            {
                logger.warning(
                    "Signing key of the journal is missing and made anew; verify what the former one signed with its public part",
                    metadata: ["file": "\(section.signingKey)"])
            }
            let signingKey = try SigningKeyFile.open(
                section.signingKey, outside: section.directory, mayCreate: true)
            settings.signingKey = signingKey
            settings.checkpointCopy = section.checkpointCopy
            settings.keep = section.keep
            settings.keepBytes = section.keepBytes
            settings.ledger = ledger
            journalMetrics = settings.metrics
            followers = settings.followers
            SinkCursor.require(section.sinks, journal: section.directory, by: followers)
            journalCopy = store.postgreSQL.map { JournalCopy($0, key: signingKey.publicKey, logger: logger) }
            sharedCounts = configuration.store.map { SharedCounts($0, clocks: clocks) }
            // Until it is known which lines the store has.
            if journalCopy != nil { followers.require(from: 0, by: AuditSinkSettings.sharedStore.name) }
            ArchiveCursor.require(section.archive, journal: section.directory, by: followers)
            guard let indexSeal = IndexSeal(signingKey) else {
                throw JournalUnavailable("libcrypto cannot derive the key of the indexes")
            }
            self.indexSeal = indexSeal
            journalIndex = AuditIndex(directory: section.directory, seal: indexSeal)
            settings.indexedSegments = journalIndex
            journal = try JournalFile(settings)
        } catch {
            try? ledger.close()
            throw error
        }
    }

    /// Passes on the idempotent sends of the last day in the journal, for replays; none with a shared register. Blocks.
    ///
    /// - Parameters:
    ///   - now: The present time.
    ///   - checkStop: Called between parts of the journal. Throws to end the read.
    ///   - found: Called with each send.
    /// - Returns: The numbers of lines that the journal lacks.
    /// - Throws: `JournalUnavailable`, and what the functions throw.
    package func readIdempotentSends(
        now: WallTime, checkStop: () throws -> Void, _ found: (IdempotentSend) throws -> Void
    ) throws -> [ClosedRange<UInt64>] {
        guard keyedSendRegister == nil else { return [] }
        return try JournalFile.readKeyedSends(
            in: journalDirectory, since: now.adding(-86_400_000_000), now: now, indexed: journalIndex,
            checkStop: checkStop, found)
    }

    /// Checks that the ledger's user names follow the configured rules, before anything else reads names. With other
    /// rules, accounts would look deleted and their registrations would be deleted.
    private static func reconcileIdentity(
        _ ledger: StoredLedger, _ configuration: ServerConfiguration, isAccepted: Bool, logger: Logger
    ) throws {
        let change = NameRulesChange(from: try ledger.nameRules(), to: configuration.names)
        if let change {
            let owners = try ledger.owners()
            guard isAccepted else {
                throw ConfigurationError(change.problems(file: ConfiguredStore(configuration).place, owners: owners))
            }
            logger.warning(
                "User name rules changed",
                metadata: ["owners": "\(owners.count)", "changes": "\(change.effects(on: owners).count)"])
        }
        try ledger.storeNameRules(configuration.names.storedForm)
    }

    /// Updates a ledger that was restored from a backup, before anything else reads it, and the sends with an idempotency
    /// key that gateways share: those that only the journal knows are never sent again.
    private static func complete(
        _ pending: PendingRestore, _ restore: RestoredSessions, _ ledger: StoredLedger,
        _ keyedSends: PostgreSQLKeyedSends?, journal directory: String, logger: Logger
    ) throws {
        var journaled = JournaledRegistrations()
        do {
            journaled = try JournaledRegistrations(directory: directory, since: pending.since)
            try keyedSends?.restore(journal: directory, since: pending.since)
        } catch let error as JournalUnavailable {
            // After a restore on another machine, there is no journal.
            logger.warning(
                "Journal has no records for the restored ledger", metadata: ["detail": "\(error.detail)"])
        }
        let completed = try ledger.complete(pending, sessionsBeingDeleted: restore == .ended, journaled)
        logger.warning(
            "Ledger restored from a backup",
            metadata: [
                "sessions-ended": "\(completed.endedSessions)", "sessions-kept": "\(restore == .kept)",
                "registrations-marked": "\(completed.markedRegistrations)",
            ])
        if !completed.uncompared.isEmpty {
            logger.warning(
                "Restored ledger lacks what the journals of other gateways recorded, until each of them has started",
                metadata: ["hosts": "\(completed.uncompared.joined(separator: ", "))"])
        }
    }

    /// Returns the ledger's limits from the configuration.
    static func ledgerLimits(_ configuration: ServerConfiguration) -> StoredLedger.Limits {
        var limits = StoredLedger.Limits()
        limits.registrations = configuration.ledger.registrationsPerUser
        limits.ownershipTransfers = configuration.ledger.ownershipTransfersPerDay
        limits.confirmation = configuration.ledger.confirmation
        return limits
    }

    /// Applies the settings that change without a restart.
    package func adopt(_ configuration: ServerConfiguration) {
        let section = configuration.journal
        ledger.limits = Self.ledgerLimits(configuration)
        texts?.bounds = configuration.sends.bounds
        journal.apply(
            JournalFile.Bounds(minimumFree: section.minimumFree, keep: section.keep, keepBytes: section.keepBytes))
    }

    /// Closes the stores. Logs a failure, because the caller is about to exit.
    package func close(logger: Logger) async {
        await journal.close()
        keyedSendRegister?.close()
        debts?.close()
        journalCopy?.close()
        sharedCounts?.close()
        do throws(LedgerUnavailable) {
            try texts?.close()
        } catch {
            logger.error(
                "Texts of secure notifications were not closed cleanly", metadata: ["detail": "\(error.detail)"])
        }
        do throws(LedgerUnavailable) {
            try ledger.close()
        } catch {
            logger.error("Ledger was not closed cleanly", metadata: ["detail": "\(error.detail)"])
        }
    }
}
