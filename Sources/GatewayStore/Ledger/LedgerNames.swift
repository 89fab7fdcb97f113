internal import GRDB
public import GatewayCore
internal import Glibc

/// Whose registrations a ledger holds, and how their names were made: read without taking the ledger, while a gateway may have it.
public struct LedgerNames: Sendable, Hashable {
    /// The stored form of the rules by which the names were made; nil where none is noted.
    public let rules: String?
    /// Everybody who owns a registration, in order.
    public let owners: [UserName]

    /// Reads them, or nil where there is no ledger yet. Writes nothing to the ledger. Blocks.
    public init?(file: String) throws(LedgerUnavailable) {
        guard access(file, F_OK) == 0 else { return nil }
        // Where no gateway has it open, SQLite would make files beside the ledger to read it.
        let copy = LedgerCopy.isOpen(file) ? nil : try LedgerCopy(of: file)
        defer { copy?.remove() }
        let file = copy?.file ?? file
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let queue = try DatabaseQueue(path: file, configuration: configuration)
            let read = try queue.read { database -> (String?, [UserName])? in
                guard (1...LedgerSchema.version).contains(try LedgerSchema.version(of: database)) else { return nil }
                let tables = LedgerTables(database)
                return (try tables.nameRules(), try tables.owners())
            }
            try queue.close()
            guard let read else { return nil }
            (rules, owners) = read
        } catch {
            throw LedgerUnavailable(describing: error)
        }
    }
}
