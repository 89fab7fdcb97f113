package import GatewayCore
package import GatewaySupport

/// A line of a journal.
package struct AuditLine: Sendable, Hashable {
    /// The node whose journal has the line; nil if there is only one journal.
    package let node: String?
    /// The line without its line feed.
    package let bytes: [UInt8]

    /// Creates a line.
    package init(_ bytes: [UInt8], node: String? = nil) {
        self.bytes = bytes
        self.node = node
    }

    /// The line with the name of its node as its first member, `node`; unchanged if it has none.
    package var namingNode: [UInt8] {
        guard let node, bytes.first == UInt8(ascii: "{") else { return bytes }
        return Array("{\"node\":".utf8) + JSONWriter.bytes(of: .string(node)) + Array(",".utf8) + bytes.dropFirst()
    }
}

/// Answers queries of commands: from one journal, or from the journals of all nodes. Functions block.
package protocol AuditSource {
    /// Whether lines name their node.
    var hasNodes: Bool { get }

    /// Passes the matching lines to `body` in the order of the journal, or by time.
    ///
    /// - Parameter limit: The maximum number of lines. If more match, the newest are passed.
    /// - Returns: Whether more lines match than the limit.
    func forEachLine(_ query: AuditQuery, limit: Int, _ body: (AuditLine) throws -> Void) throws -> Bool

    /// Passes each call with a matching line to `body`, with all lines of the call. A line without a call is passed alone.
    ///
    /// - Parameter limit: The maximum number of calls. If more match, the newest are passed.
    /// - Returns: Whether more calls match than the limit.
    func forEachCall(_ query: AuditQuery, limit: Int, _ body: ([AuditLine]) throws -> Void) throws -> Bool

    /// Returns the senders who notified the user since the time, most frequent first.
    func senders(to user: UserName, since: WallTime) throws -> [SenderSummary]
}

extension AuditTrail: AuditSource {
    package var hasNodes: Bool { false }

    package func forEachLine(_ query: AuditQuery, limit: Int, _ body: (AuditLine) throws -> Void) throws -> Bool {
        try lines(query, limit: limit) { try body(AuditLine($0)) }
    }

    package func forEachCall(_ query: AuditQuery, limit: Int, _ body: ([AuditLine]) throws -> Void) throws -> Bool {
        try calls(query, limit: limit) { lines in try body(lines.map { AuditLine($0) }) }
    }
}
