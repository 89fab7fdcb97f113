/// The key of a line among the lines of all nodes' journals, by which they are ordered: first by time.
///
/// As the end of a page, it is the key before which the lines of the next page are.
struct LineKey: Sendable, Hashable, Comparable {
    /// The time of the line, in microseconds since 1970.
    var at: Int64
    /// The name of the node's installation.
    var instance: String
    /// The number of the node's hash chain.
    var chain: Int64
    /// The number of the line in its journal.
    var number: Int64

    /// The order of the tables, which compare names byte by byte.
    static func < (left: LineKey, right: LineKey) -> Bool {
        if left.at != right.at { return left.at < right.at }
        if left.instance != right.instance {
            return left.instance.utf8.lexicographicallyPrecedes(right.instance.utf8)
        }
        return (left.chain, left.number) < (right.chain, right.number)
    }
}

/// The ends of all nodes' journals at one moment: how many lines of each were in the tables.
struct JournalEnds: Sendable, Hashable {
    /// The end of one journal.
    struct End: Sendable, Hashable {
        /// The number of the present hash chain.
        var chain: Int64
        /// The number after the last line of that chain.
        var next: Int64
    }

    /// The numbers that hash chains have, as in the tables.
    static let chains: ClosedRange<Int64> = 0...Int64(Int32.max)

    /// The ends by the name of the installation.
    var ends: [String: End] = [:]

    /// Returns whether the line was in the tables.
    func contains(_ place: LineKey) -> Bool {
        guard let end = ends[place.instance] else { return false }
        return place.chain < end.chain || (place.chain == end.chain && place.number < end.next)
    }
}

// MARK: Text

/// The texts of cursors: words separated by `.`, entries separated by `~`. They come back from clients.
extension LineKey {
    /// The place as text.
    var text: String { "\(at).\(instance).\(chain).\(number)" }

    /// Parses the text; nil if it is not one that ``text`` returned.
    init?(text: some StringProtocol) {
        let words = text.split(separator: ".", omittingEmptySubsequences: false)
        guard words.count == 4, let at = Int64(words[0]), JournalEnds.isInstance(words[1]), let chain = Int64(words[2]),
            let number = Int64(words[3])
        else { return nil }
        self.init(at: at, instance: String(words[1]), chain: chain, number: number)
    }
}

extension JournalEnds {
    /// The maximum number of entries of a text.
    static let maximumEntries = 200

    /// The ends as text.
    var text: String {
        ends.sorted { $0.key < $1.key }.map { "\($0.key).\($0.value.chain).\($0.value.next)" }.joined(separator: "~")
    }

    /// Parses the text; nil if it is not one that ``text`` returned.
    init?(text: some StringProtocol) {
        self.init()
        guard !text.isEmpty else { return }
        let entries = text.split(separator: "~", omittingEmptySubsequences: false)
        guard entries.count <= Self.maximumEntries else { return nil }
        for entry in entries {
            let words = entry.split(separator: ".", omittingEmptySubsequences: false)
            guard words.count == 3, Self.isInstance(words[0]), let chain = Int64(words[1]), chain >= 0,
                let next = Int64(words[2]), next >= 0
            else { return nil }
            ends[String(words[0])] = End(chain: chain, next: next)
        }
    }

    /// Returns whether the text may be the name of an installation.
    static func isInstance(_ text: some StringProtocol) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            }
    }
}
