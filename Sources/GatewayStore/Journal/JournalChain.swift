internal import GatewayCore
internal import GatewaySupport

/// The end of the hash chain: the next line's number, and the last line's hash.
struct JournalChain: Sendable, Hashable {
    /// The number of the next line.
    var next: UInt64
    private var hash: SHA256.Digest

    /// The start of the chain, before the first line.
    static let beginning = JournalChain(next: 1, hash: .zero)

    /// Creates the end of a chain whose last line has the hash.
    init(next: UInt64, hash: SHA256.Digest) {
        self.next = next
        self.hash = hash
    }

    /// The hash of the last line: 64 hexadecimal digits.
    var previous: [UInt8] { hash.hexDigits }

    /// Appends one line with its line feed and advances the chain. Returns false if no number is left or libcrypto cannot
    /// compute the hash; `lines` may then end with an incomplete line.
    ///
    /// - Parameters:
    ///   - members: The line's members, each with a comma before it.
    ///   - time: The bytes of an RFC 3339 time.
    mutating func append(_ members: ArraySlice<UInt8>, at time: [UInt8], to lines: inout [UInt8]) -> Bool {
        guard LineNumber(next) != nil else { return false }
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

    /// Appends at most 128 bytes of a line.
    private static func write(to lines: inout [UInt8], _ write: (inout ByteWriter) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 128) { room in
            var part = ByteWriter(room)
            write(&part)
            lines.append(UnsafeBufferPointer(rebasing: room[..<part.count]))
        }
    }
}
