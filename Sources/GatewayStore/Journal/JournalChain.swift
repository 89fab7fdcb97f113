internal import GatewayCore

/// Where the journal stands: the number of its last line, and the hash that the next one names.
struct JournalChain: Sendable, Hashable {
    /// The number that the next line gets.
    var next: UInt64
    private var hash: SHA256.Digest

    /// Before the first line of all.
    static let beginning = JournalChain(next: 1, hash: .zero)

    /// Behind a line with that hash.
    init(next: UInt64, hash: SHA256.Digest) {
        self.next = next
        self.hash = hash
    }

    /// The hash of the last line: 64 hexadecimal digits.
    var previous: [UInt8] { hash.hexDigits }

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
            hash.write(to: &$0)
            $0.append("\"")
        }
        let digest = lines.withUnsafeBytes { SHA256.Digest(of: UnsafeRawBufferPointer(rebasing: $0[start...])) }
        guard let digest else { return false }
        hash = digest
        Self.write(to: &lines) {
            $0.append(",\"hash\":\"")
            hash.write(to: &$0)
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
