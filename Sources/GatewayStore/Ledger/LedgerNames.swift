internal import GRDB
public import GatewayCore
internal import Glibc

/// The user names of the owners in a ledger, and the rules that formed these names. Reads the file without locking the
/// ledger, which a gateway may have open.
public struct LedgerNames: Sendable, Hashable {
    /// The stored form of the rules that formed the names; nil if none is stored.
    public let rules: String?
    /// The owners of registrations, sorted.
    public let owners: [UserName]

    /// Reads the names; nil if the ledger does not exist or has an unknown schema version. Writes nothing. Blocks.
    public init?(file: String) throws(LedgerUnavailable) {
        guard access(file, F_OK) == 0 else { return nil }
        // A ledger that is not open is read from a copy, because SQLite would create files beside it.
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
