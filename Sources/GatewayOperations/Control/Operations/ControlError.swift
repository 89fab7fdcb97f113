internal import GatewayCore

/// The reason why an operation failed, possibly after a part of it was done.
public struct ControlError: Error, Sendable, Hashable {
    /// The kind of failure. It shows whether the command, the client or the gateway must change.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// The gateway rejected the request.
        case refused
        /// The request has no target: no such registration, session or user.
        case notFound
        /// The request is invalid.
        case malformed
        /// A required resource is unavailable at present. Nothing has changed unless the reason states otherwise.
        case unavailable
    }

    /// The kind of failure.
    public let kind: Kind
    /// A sentence for the operator.
    public let reason: String

    /// Creates an error.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// Creates an error of the kind `refused`.
    public static func refused(_ reason: String) -> ControlError { ControlError(.refused, reason) }
    /// Creates an error of the kind `notFound`.
    public static func notFound(_ reason: String) -> ControlError { ControlError(.notFound, reason) }
    /// Creates an error of the kind `malformed`.
    public static func malformed(_ reason: String) -> ControlError { ControlError(.malformed, reason) }
    /// Creates an error of the kind `unavailable`.
    public static func unavailable(_ reason: String) -> ControlError { ControlError(.unavailable, reason) }
}

/// Runs a ledger access and converts its error for an operator.
func withLedger<Value>(
    _ body: () async throws(LedgerUnavailable) -> Value
) async throws(ControlError) -> Value {
    do throws(LedgerUnavailable) {
        return try await body()
    } catch {
        throw .unavailable("The ledger cannot be used: \(error.detail)")
    }
}
