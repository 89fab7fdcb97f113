internal import GatewayCore

/// What the file `ledger.sqlite.state` says of the ledger beside it: whether the last gateway closed it, and which generations of
/// the ledger are the latest.
///
/// The generation is a random word that is written anew into the ledger at each start and each end. A ledger of another generation
/// than this file names is an older copy that was put in its place.
struct LedgerState: Sendable, Hashable {
    var isClosed: Bool
    /// The generations that the ledger may have: two while it is changed from one to the other.
    var generations: [String]

    /// Reads the file; nil where there is none. A file that cannot be understood names no generation and no orderly end. Blocks.
    static func read(_ path: String) throws(FileFailure) -> LedgerState? {
        guard let bytes = try PrivateFiles.read(path, atMost: 4096) else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
        guard words.count >= 2, words[0] == "closed" || words[0] == "open",
            words.dropFirst().allSatisfy({ $0.utf8.count == 16 && $0.utf8.allSatisfy { $0.hexDigitValue != nil } })
        else { return LedgerState(isClosed: false, generations: []) }
        return LedgerState(isClosed: words[0] == "closed", generations: Array(words.dropFirst()))
    }

    /// Puts the file in the place of the one before, durably. Blocks.
    func write(_ path: String) throws(FileFailure) {
        let text = "\(isClosed ? "closed" : "open") \(generations.joined(separator: " "))\n"
        let draft = path + ".draft"
        try PrivateFiles.remove(draft)
        try PrivateFiles.write(Array(text.utf8), toNew: draft)
        try PrivateFiles.rename(draft, to: path)
    }

    /// A generation that no ledger has had.
    static func newGeneration() -> String {
        var source = SystemRandomNumberGenerator()
        let digits = String(UInt64.random(in: .min ... .max, using: &source), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
