internal import Foundation
internal import GRDB

/// The index of a journal, for a command that only reads: nothing is written, made or removed beside the journal.
///
/// An index that no process uses is copied into a private directory. An index that a process uses is read where it lies, through a
/// connection that cannot write, in one transaction.
struct IndexSnapshot {
    let database: DatabaseQueue
    private let copy: PrivateCopy?

    /// - Returns: nil if there is no index, or none that was closed in order.
    init?(directory: String) throws {
        let path = directory + "/" + AuditIndex.fileName
        var configuration = Configuration()
        configuration.label = "audit"
        configuration.busyMode = .timeout(60)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
        }
        if try IndexFiles.isUsed(in: directory) {
            guard access(path, F_OK) == 0 else { return nil }
            configuration.readonly = true
            (database, copy) = (try DatabaseQueue(path: path, configuration: configuration), nil)
            return
        }
        guard IndexFiles.isClosedInOrder(in: directory) else { return nil }
        let copy = try PrivateCopy()
        do {
            try copy.add(path, as: AuditIndex.fileName)
            // A process that has begun to use the index meanwhile may have changed it while it was copied.
            guard IndexFiles.isClosedInOrder(in: directory) else {
                throw AuditIndex.Failure("another process has begun to write it; verify again")
            }
            database = try DatabaseQueue(path: copy.path(AuditIndex.fileName), configuration: configuration)
        } catch {
            copy.remove()
            throw error
        }
        self.copy = copy
    }

    /// Closes the database and removes the copy.
    func close() {
        try? database.close()
        copy?.remove()
    }
}
