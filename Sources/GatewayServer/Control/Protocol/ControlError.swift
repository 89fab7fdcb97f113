/// Why an operation was not carried out, or not to its end.
public struct ControlError: Error, Sendable, Hashable {
    /// Whose it is to do something about it.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The gateway says no, or found something wrong.
        case refused
        /// The request is none, or is meant for another version.
        case malformed
        /// Something that is needed cannot be had at present. Unless the reason says otherwise nothing was changed.
        case unavailable
    }

    /// Whose it is to do something about it.
    public let kind: Kind
    /// A sentence for the operator.
    public let reason: String

    /// A fault from its parts.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// The gateway says no, or found something wrong.
    public static func refused(_ reason: String) -> ControlError { ControlError(.refused, reason) }
    /// The request is none, or is meant for another version.
    public static func malformed(_ reason: String) -> ControlError { ControlError(.malformed, reason) }
    /// Something that is needed cannot be had at present.
    public static func unavailable(_ reason: String) -> ControlError { ControlError(.unavailable, reason) }
}
