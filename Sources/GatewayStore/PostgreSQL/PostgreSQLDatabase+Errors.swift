internal import GatewayCore
internal import PostgreSQLClient

/// The meaning of errors for the callers of a database.
extension PostgreSQLDatabase {
    func isConflict(_ error: any Error) -> Bool { (error as? PostgreSQLError)?.isContention == true }

    /// Returns nil: the server checks its own files.
    func damage(in error: any Error) -> String? { nil }

    func isFailure(_ error: any Error) -> Bool {
        switch error {
        // Class 22 is about values.
        case let error as PostgreSQLError:
            error.kind != .constraint && error.kind != .conflict && error.sqlState?.hasPrefix("22") != true
        case is OutcomeUnknown, is StoreNode.Lost: true
        default: false
        }
    }

    func isOutcomeUnknown(_ error: any Error) -> Bool { error is OutcomeUnknown }

    func message(for error: any Error) -> String { Self.text(for: error) }

    /// Returns a text about an error for operators.
    static func text(for error: any Error) -> String {
        switch error {
        case let error as PostgreSQLError: error.message
        case let error as OutcomeUnknown: "the connection was lost during a commit: \(error.cause.message)"
        case let error as StoreNode.Lost: error.reason
        case let error as LedgerUnavailable: error.detail
        default: "\(error)"
        }
    }
}
