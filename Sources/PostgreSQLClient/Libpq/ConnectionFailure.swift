/// libpq's text about a failed connection.
///
/// The SQLSTATE of a server that refuses a session is only in this text, and only with the verbosity `PQERRORS_VERBOSE`:
/// `…: FATAL:  28P01: password authentication failed for user "gateway"`, then a line with a place in the server's source.
struct ConnectionFailure {
    let sqlState: String?
    let reason: String

    init(_ text: String) {
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }
        let line = lines.joined(separator: " ")
        // The severity may be in the server's language, the code is not.
        if let match = line.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) {
            sqlState = String(match.1)
            reason = String(line[match.range.upperBound...])
        } else {
            sqlState = nil
            reason = line.isEmpty ? "no reason given" : line
        }
    }

    /// The failure, for the operators of a server.
    func error(of server: String) -> PostgreSQLError {
        if let sqlState {
            return PostgreSQLError(sqlState: sqlState, severity: "FATAL", message: "\(server): \(reason)")
        }
        let isCertificate = reason.contains("certificate")
        return PostgreSQLError(isCertificate ? .rejected : .unavailable, "\(server): \(reason)")
    }
}
