internal import GatewayCore

/// Where the journal stands: the number of its last line, and the hash that the next one names.
struct JournalChain: Sendable, Hashable {
    /// The number that the next line gets.
    var next: UInt64
    /// The hash of the last line: 64 hexadecimal digits.
    var previous: [UInt8]

    /// Before the first line of all.
    static let beginning = JournalChain(next: 1, previous: [UInt8](repeating: UInt8(ascii: "0"), count: 64))

    /// Appends one line with its line feed and moves on to the next; false where libcrypto makes no hash.
    ///
    /// - Parameter time: the bytes of an RFC 3339 time.
    mutating func append(_ entry: JournalEntry, at time: String, to line: inout JournalLine) -> Bool {
        let start = line.bytes.count
        line.append("{\"seq\":")
        line.append(decimal: next)
        line.member("at", word: time)
        entry.write(to: &line)
        line.append(",\"prev\":\"")
        line.bytes += previous
        line.append("\"")
        let hash = line.bytes.withUnsafeBytes { SHA256.digest(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        guard let hash else { return false }
        line.append(",\"hash\":\"")
        let place = line.bytes.count
        line.append(hexOf: hash)
        previous.replaceSubrange(0..., with: line.bytes[place...])
        line.append("\"}\n")
        next += 1
        return true
    }
}
