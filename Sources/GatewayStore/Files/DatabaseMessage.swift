internal import GRDB

/// Errors of SQLite in words for an operator; its number goes along for whoever looks it up (https://sqlite.org/rescode.html).
enum DatabaseMessage {
    /// What is wrong with the database and what to do.
    static func of(_ error: DatabaseError) -> String {
        let reason =
            switch error.resultCode {
            case .SQLITE_NOTADB: "the file is not a database of SQLite"
            case .SQLITE_CORRUPT: "the database is damaged; put a backup in its place (`ledger backup` makes one)"
            case .SQLITE_FULL: "the disk is full"
            case .SQLITE_READONLY: "the database or its directory cannot be written by this user"
            case .SQLITE_CANTOPEN: "the database, or a file beside it, cannot be opened by this user"
            case .SQLITE_PERM, .SQLITE_AUTH: "permission denied"
            case .SQLITE_IOERR: "the disk fails to read or write the database"
            case .SQLITE_BUSY, .SQLITE_LOCKED: "another program has the database locked"
            case .SQLITE_NOMEM: "there is not enough memory"
            case .SQLITE_TOOBIG: "a value is too large for the database"
            case .SQLITE_CONSTRAINT:
                "the database holds something that contradicts this change (\(error.message ?? "constraint"))"
            case .SQLITE_INTERRUPT, .SQLITE_ABORT: "the database was closed meanwhile"
            default: "the database cannot be used (\(error.message ?? "no reason given"))"
            }
        return "\(reason) [SQLite \(error.extendedResultCode.rawValue)]"
    }
}
