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
    /// - Parameters:
    ///   - members: what the line says, each member with the comma before it.
    ///   - time: the bytes of an RFC 3339 time.
    mutating func append(_ members: ArraySlice<UInt8>, at time: [UInt8], to lines: inout [UInt8]) -> Bool {
        let start = lines.count
        Self.write(to: &lines) {
            $0.append("{\"seq\":")
            $0.append(decimal: next)
            $0.append(",\"at\":\"")
            $0.append(time)
            $0.append("\"")
        }
        members.withUnsafeBufferPointer { lines.append($0) }
        Self.write(to: &lines) {
            $0.append(",\"prev\":\"")
            $0.append(previous)
            $0.append("\"")
        }
        let hash = lines.withUnsafeBytes { SHA256.Digest(of: UnsafeRawBufferPointer(rebasing: $0[start...])) }
        guard let hash else { return false }
        previous = [UInt8](expecting: 2 * SHA256.byteCount) { hash.write(to: &$0) }
        Self.write(to: &lines) {
            $0.append(",\"hash\":\"")
            $0.append(previous)
            $0.append("\"}\n")
        }
        next += 1
        return true
    }

    /// Appends a short part of a line.
    private static func write(to lines: inout [UInt8], _ write: (inout ByteWriter) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 128) { room in
            var part = ByteWriter(room)
            write(&part)
            lines.append(UnsafeBufferPointer(rebasing: room[..<part.count]))
        }
    }
}
