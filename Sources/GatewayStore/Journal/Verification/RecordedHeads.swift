internal import GatewaySupport

/// The ends of other nodes' journals that a journal records (``NodeHead``), in the order of its lines.
public struct RecordedHeads: Sendable, Hashable {
    /// One recorded end.
    struct Entry: Sendable, Hashable {
        let chain: Int64
        let number: UInt64
        let hash: SHA256.Digest
        /// The number of the line that records it.
        let recordedIn: UInt64
    }

    /// The recorded ends of one node's journal.
    struct Node: Sendable, Hashable {
        /// The name of its machine, as recorded last.
        var host: String
        /// The id of its signing key, as recorded last.
        var keyID: String
        var entries: [Entry] = []
        /// The first pair of entries of which the later one contradicts the earlier one; nil without one.
        var contradiction: (earlier: Entry, later: Entry)? {
            for (earlier, later) in zip(entries, entries.dropFirst()) {
                let isBehind = (later.chain, later.number) < (earlier.chain, earlier.number)
                let differs =
                    (later.chain, later.number) == (earlier.chain, earlier.number) && later.hash != earlier.hash
                if isBehind || differs { return (earlier, later) }
            }
            return nil
        }
    }

    /// The nodes, by the random name of the installation.
    private(set) var nodes: [String: Node] = [:]

    /// The number of recorded ends.
    public var count: Int { nodes.values.reduce(0) { $0 + $1.entries.count } }

    /// Adds the end that a line records.
    mutating func add(_ line: JournalLineReader, number: UInt64) {
        guard let head = line.nodeHead, let hash = SHA256.Digest(hexDigits: Array(head.hash.utf8)) else { return }
        var node = nodes.removeValue(forKey: head.node) ?? Node(host: head.host, keyID: head.keyID)
        (node.host, node.keyID) = (head.host, head.keyID)
        node.entries.append(Entry(chain: head.chain, number: head.through, hash: hash, recordedIn: number))
        nodes[head.node] = node
    }
}
