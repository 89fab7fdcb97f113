internal import Foundation
internal import GRDB
internal import GatewaySupport

/// A read-only view of a journal's index for commands. Changes no file in the journal's directory.
///
/// An index that no process uses is copied into a private directory and read there. An index in use is read in place,
/// through a read-only connection.
struct IndexSnapshot {
    let database: DatabaseQueue
    private let copy: PrivateCopy?

    /// Opens the index; nil if none exists, or if it is not in use and was not closed cleanly.
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
        guard IndexFiles.wasClosedCleanly(in: directory) else { return nil }
        let copy = try PrivateCopy()
        do {
            try copy.add(path, as: AuditIndex.fileName)
            // Another process may have opened and changed the index during the copy.
            guard IndexFiles.wasClosedCleanly(in: directory) else {
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
