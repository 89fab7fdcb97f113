internal import GatewayCore
internal import GatewayStore
internal import Logging

/// The stores of a running gateway: registrations, journal, and the key of its digests.
struct OpenStores: Sendable {
    let ledger: SQLiteLedger
    let sessions: SessionRegister
    let journal: JournalFile
    let messageDigester: KeyedDigester

    init(_ configuration: ServerConfiguration, clocks: Clocks, logger: Logger) throws {
        let section = configuration.journal
        var limits = SQLiteLedger.Limits()
        limits.registrations = configuration.ledger.registrationsPerUser
        limits.handOvers = configuration.ledger.handOversPerDay
        ledger = try SQLiteLedger(file: configuration.ledger.file, limits: limits)
        do {
            sessions = try SessionRegister(ledger, clocks: clocks)
            var settings = JournalFile.Configuration(directory: section.directory, clocks: clocks, logger: logger)
            settings.minimumFree = section.minimumFree
            journal = try JournalFile(settings)
            messageDigester = KeyedDigester(key: try KeyFile.open("\(section.directory)/digest.key"))
        } catch {
            try? ledger.close()
            throw error
        }
    }

    func close(logger: Logger) async {
        await journal.close()
        do throws(LedgerUnavailable) {
            try ledger.close()
        } catch {
            logger.error("The ledger was not closed in order", metadata: ["detail": "\(error.detail)"])
        }
    }
}
