internal import GatewaySupport

/// The content of `ledger.sqlite.state`: whether the last process closed the ledger, and the ledger's current
/// generation.
///
/// A generation is a random identifier that each start and each stop writes into both the ledger and this file. A
/// ledger with another generation than this file was restored from an older copy.
struct LedgerState: Sendable, Hashable {
    /// Whether the last process closed the ledger cleanly.
    var isClosed: Bool
    /// The generations that the ledger may have: two while it changes from one to the next.
    var generations: [String]

    /// Reads the file; nil if it does not exist. Treats invalid content as an unclean shutdown without a known
    /// generation. Blocks.
    static func read(_ path: String) throws(FileFailure) -> LedgerState? {
        guard let bytes = try PrivateFiles.read(path, atMost: 4096) else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
        guard words.count >= 2, words[0] == "closed" || words[0] == "open",
            words.dropFirst().allSatisfy({ $0.utf8.count == 16 && $0.utf8.allSatisfy { $0.hexDigitValue != nil } })
        else { return LedgerState(isClosed: false, generations: []) }
        return LedgerState(isClosed: words[0] == "closed", generations: Array(words.dropFirst()))
    }

    /// Replaces the file durably. Blocks.
    func write(_ path: String) throws(FileFailure) {
        let text = "\(isClosed ? "closed" : "open") \(generations.joined(separator: " "))\n"
        let draft = path + ".draft"
        try PrivateFiles.remove(draft)
        try PrivateFiles.write(Array(text.utf8), toNew: draft)
        try PrivateFiles.rename(draft, to: path)
    }

    /// Returns a new random generation.
    static func newGeneration() -> String { String(hexEncoding: RandomBytes.make(8)) }
}
