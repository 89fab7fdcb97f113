internal import GRDB
internal import GatewayCore

/// SQLite errors as messages for operators, with the result code (https://sqlite.org/rescode.html).
enum SQLiteMessage {
    /// Returns a message about an error of SQLite or of the file system.
    static func text(for error: any Error) -> String {
        switch error {
        case let known as LedgerUnavailable: known.detail
        case let error as DatabaseError: text(for: error)
        default: "\(error)"
        }
    }

    /// Returns SQLite's message about a damaged file; nil for any other error.
    static func damage(in error: any Error) -> String? {
        guard let error = error as? DatabaseError,
            error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB
        else { return nil }
        let isDatabase = error.resultCode == .SQLITE_CORRUPT
        return text(isDatabase ? "its content is inconsistent" : "the file is not an SQLite database", error)
    }

    /// Returns a message that states the problem, the remedy if one is known, and the result code.
    private static func text(for error: DatabaseError) -> String {
        let reason =
            switch error.resultCode {
            case .SQLITE_NOTADB: "the file is not an SQLite database"
            case .SQLITE_CORRUPT: "the database is damaged; restore a backup (notify-gateway restore --replace)"
            case .SQLITE_FULL: "the disk is full"
            case .SQLITE_READONLY: "this user may not write the database or its directory"
            case .SQLITE_CANTOPEN: "this user may not open the database or a file beside it"
            case .SQLITE_PERM, .SQLITE_AUTH: "permission denied"
            case .SQLITE_IOERR: "the disk failed to read or write the database"
            case .SQLITE_BUSY, .SQLITE_LOCKED: "another process has locked the database"
            case .SQLITE_NOMEM: "out of memory"
            case .SQLITE_TOOBIG: "a value is too large for the database"
            case .SQLITE_CONSTRAINT:
                "the change violates a constraint of the database (\(error.message ?? "constraint"))"
            case .SQLITE_INTERRUPT, .SQLITE_ABORT: "the database was closed during the operation"
            default: "the database cannot be used (\(error.message ?? "no reason given"))"
            }
        return text(reason, error)
    }

    private static func text(_ reason: String, _ error: DatabaseError) -> String {
        "\(reason) [SQLite \(error.extendedResultCode.rawValue)]"
    }
}

extension LedgerUnavailable {
    /// Converts an error of SQLite or of the file system to one with a message for operators.
    init(ofSQLite error: any Error) {
        self = error as? LedgerUnavailable ?? LedgerUnavailable(SQLiteMessage.text(for: error))
    }
}
