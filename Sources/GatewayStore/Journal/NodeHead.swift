internal import GatewayCore

/// The end of another gateway's journal in the shared store, as a gateway records it in its own journal.
///
/// A journal that is shortened or replaced later contradicts this record, which is part of a hash chain on another machine.
package struct NodeHead: Sendable, Hashable {
    /// The random name of the other installation.
    package let node: String
    /// The name of its machine.
    package let host: String
    /// The number of its hash chain: one more whenever its journal began anew or went back to an older state.
    package let chain: Int64
    /// The number of the last line.
    package let through: UInt64
    /// The hash of that line: 64 hexadecimal digits.
    package let hash: String
    /// The id of the key that signs its checkpoints: 16 hexadecimal digits.
    package let keyID: String

    /// Creates a head from its parts.
    package init(node: String, host: String, chain: Int64, through: UInt64, hash: String, keyID: String) {
        self.node = node
        self.host = host
        self.chain = chain
        self.through = through
        self.hash = hash
        self.keyID = keyID
    }
}

extension JournalLineReader {
    /// The head in a `node-head` line; nil for other lines.
    var nodeHead: NodeHead? {
        guard kind == .nodeHead, let node = text("node"), let host = text("host"),
            let chain = number("chain").flatMap(Int64.init(exactly:)), let through = lineNumber("through"),
            let hash = text("head"), hash.utf8.count == 64, let keyID = text("key")
        else { return nil }
        return NodeHead(node: node, host: host, chain: chain, through: through, hash: hash, keyID: keyID)
    }
}
