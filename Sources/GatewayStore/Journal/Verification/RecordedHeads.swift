internal import GatewaySupport

/// The heads of other gateways' journals that a journal records (``NodeHead``), in the order of its lines.
public struct RecordedHeads: Sendable, Hashable {
    /// One recorded head.
    struct Entry: Sendable, Hashable {
        let chain: Int64
        let number: UInt64
        let hash: SHA256.Digest
        /// The id of the signing key: 16 hexadecimal digits as a number.
        let keyID: UInt64?
        /// The number of the line that records it.
        let recordedIn: UInt64
    }

    /// The recorded heads of one gateway's journal.
    struct Node: Sendable, Hashable {
        /// The name of its machine, as recorded last.
        var host: String
        /// The time of the last record.
        var lastRecorded: WallTime?
        var entries: [Entry] = []

        /// The first two successive records that no unchanged journal can have: of two chains, or of two hashes of a line.
        var contradiction: (earlier: Entry, later: Entry)? {
            firstPair { $1.chain != $0.chain || ($1.number == $0.number && $1.hash != $0.hash) }
        }

        /// The first two successive records with different signing keys.
        var keyChange: (earlier: Entry, later: Entry)? { firstPair { $0.keyID != $1.keyID } }

        /// The largest recorded number of the last recorded chain.
        var largestNumber: UInt64 {
            entries.reduce(0) { $1.chain == entries.last?.chain ? max($0, $1.number) : $0 }
        }

        private func firstPair(where matches: (Entry, Entry) -> Bool) -> (Entry, Entry)? {
            zip(entries, entries.dropFirst()).first(where: matches)
        }
    }

    /// The gateways, by the random name of the installation.
    private(set) var nodes: [String: Node] = [:]

    /// The number of recorded heads.
    public var count: Int { nodes.values.reduce(0) { $0 + $1.entries.count } }

    /// Adds the head that a line records.
    mutating func add(_ line: JournalLineReader, number: UInt64) {
        guard let head = line.nodeHead, let hash = SHA256.Digest(hexDigits: Array(head.hash.utf8)) else { return }
        var node = nodes.removeValue(forKey: head.node) ?? Node(host: head.host)
        (node.host, node.lastRecorded) = (head.host, line.time ?? node.lastRecorded)
        node.entries.append(
            Entry(
                chain: head.chain, number: head.through, hash: hash, keyID: UInt64(head.keyID, radix: 16),
                recordedIn: number))
        nodes[head.node] = node
    }
}
