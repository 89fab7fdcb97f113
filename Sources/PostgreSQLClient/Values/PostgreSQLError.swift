/// A failure of a connection or of a statement.
package struct PostgreSQLError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of a failure, which decides how the caller proceeds.
    package enum Kind: Sendable, Hashable {
        /// Another transaction was in the way (40001, 40P01): repeat the transaction.
        case conflict
        /// The data violates a constraint (class 23).
        case constraint
        /// The server is not reachable, shuts down, lacks resources or does not respond in time. The connection is closed;
        /// it is not known whether a statement that was running took effect.
        case unavailable
        /// The server is a standby, or the transaction is read-only (25006).
        case readOnly
        /// The server rejects the user, the password, the database or the certificate, or the settings are invalid.
        case rejected
        /// Another failure, such as an invalid statement or argument.
        case other
    }

    /// The SQLSTATE of the server: five characters; nil for failures that libpq or the client found.
    package let sqlState: String?
    /// One line for operators: severity, reason and detail. Without passwords, and without the values of the statement.
    package let message: String
    /// The kind of the failure.
    package let kind: Kind

    package var description: String { sqlState.map { "\(message) (SQLSTATE \($0))" } ?? message }

    /// Creates a failure that the client found.
    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = Self.line(message)
        sqlState = nil
    }

    /// Creates a failure that the server reported.
    init(sqlState: String, severity: String, message: String) {
        self.sqlState = sqlState
        self.message = Self.line("\(severity): \(message)")
        let kind = Self.kind(of: sqlState)
        // The server closes the connection after a fatal error, whatever its reason.
        let isFatal = severity == "FATAL" || severity == "PANIC"
        self.kind = kind == .other && isFatal ? .unavailable : kind
    }

    /// Creates a failure like another one, with the reasons of several.
    init(_ error: PostgreSQLError, message: String) {
        kind = error.kind
        sqlState = error.sqlState
        self.message = Self.line(message)
    }

    /// The longest message, in characters.
    static let longestMessage = 1000

    /// Returns the text as one line of bounded length.
    private static func line(_ text: String) -> String {
        let words = text.split { $0.isWhitespace || $0.isNewline || $0 == "\0" }
        return String(words.joined(separator: " ").prefix(longestMessage))
    }

    private static func kind(of sqlState: String) -> Kind {
        switch sqlState {
        case "40001", "40P01": .conflict
        case "25006": .readOnly
        // A transaction that was idle or long for too long, and a statement that reached the server's own deadline.
        case "25P03", "25P04", "57014", "57P01", "57P02", "57P03", "57P04", "57P05": .unavailable
        default:
            switch sqlState.prefix(2) {
            case "08", "53", "58": .unavailable
            case "23": .constraint
            case "28", "3D": .rejected
            default: .other
            }
        }
    }
}
