/// The reason why an operation failed, possibly after a part of it was done.
public struct ControlError: Error, Sendable, Hashable {
    /// The kind of failure, which tells who can remedy it.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The gateway rejected the request, or the request has no valid target.
        case refused
        /// The request is invalid, or of another protocol version.
        case malformed
        /// A required resource is unavailable at present. Nothing has changed unless the reason states otherwise.
        case unavailable
    }

    /// The kind of failure.
    public let kind: Kind
    /// A sentence for the operator.
    public let reason: String

    /// Creates a fault.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// Creates a fault of the kind `refused`.
    public static func refused(_ reason: String) -> ControlError { ControlError(.refused, reason) }
    /// Creates a fault of the kind `malformed`.
    public static func malformed(_ reason: String) -> ControlError { ControlError(.malformed, reason) }
    /// Creates a fault of the kind `unavailable`.
    public static func unavailable(_ reason: String) -> ControlError { ControlError(.unavailable, reason) }
}
