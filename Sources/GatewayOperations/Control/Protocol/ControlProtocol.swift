internal import GatewayCore

/// The protocol between commands and the running gateway on the control socket. Each connection carries lines of JSON:
/// one request, then any number of items, then exactly one end.
///
/// ```
/// → {"control":1,"operation":"bans lift","arguments":{"user":"alice"}}
/// ← {"item":{"lifted":2}}
/// ← {"end":"done"}
/// ```
///
/// A response without an end was interrupted, and the operation may or may not have been carried out. Bytes after the
/// request are not read.
public enum ControlProtocol {
    /// The only version. A gateway rejects requests of another version.
    public static let version: Int64 = 1
    /// The maximum length of a request in bytes, without its line feed. A token of 16 KiB fits.
    static let maximumRequestLength = 32 << 10
    /// The maximum length of a response line in bytes, without its line feed.
    static let maximumResponseLineLength = 1 << 20
}

/// Splits received bytes into lines of limited length, independent of how the bytes arrive in pieces.
struct LineReader: Sendable {
    /// The result of reading.
    enum Line: Sendable, Hashable {
        /// A line, without its line feed.
        case complete([UInt8])
        /// A line beyond the maximum length. Nothing after it can be read.
        case tooLong
    }

    private let maximumLength: Int
    private var bytes: [UInt8] = []
    private var searched = 0

    init(maximumLength: Int) { self.maximumLength = maximumLength }

    /// Appends received bytes. The caller reads all lines with `next()` after each piece, so at most one line and one
    /// piece are held.
    mutating func append(_ piece: some Sequence<UInt8>) { bytes += piece }

    /// Returns the next line, or nil until more bytes arrive.
    mutating func next() -> Line? {
        guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = bytes.count
            return bytes.count > maximumLength ? .tooLong : nil
        }
        guard end <= maximumLength else { return .tooLong }
        let line = Array(bytes[..<end])
        bytes.removeSubrange(...end)
        searched = 0
        return .complete(line)
    }
}

/// The reason why an operation failed, possibly after a part of it was done.
public struct ControlError: Error, Sendable, Hashable {
    /// The kind of failure. It shows whether the command, the client or the gateway must change.
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

    /// Creates an error.
    public init(_ kind: Kind, _ reason: String) {
        self.kind = kind
        self.reason = reason
    }

    /// Creates an error of the kind `refused`.
    public static func refused(_ reason: String) -> ControlError { ControlError(.refused, reason) }
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
