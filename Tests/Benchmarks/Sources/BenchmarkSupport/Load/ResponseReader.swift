import NIOCore

/// Finds the end of answers in a connection's bytes, and their statuses. Knows what the gateway writes and no more.
struct ResponseReader {
    private var kept = ByteBuffer()

    /// Takes bytes.
    ///
    /// - Returns: the status once an answer is complete, 0 for what is none, nil while more has to come.
    mutating func receive(_ bytes: ByteBuffer) -> Int? {
        if kept.readableBytes == 0 { kept = bytes } else { kept.writeImmutableBuffer(bytes) }
        guard let status = kept.withUnsafeReadableBytes(Self.status) else { return nil }
        kept = ByteBuffer()
        return status
    }

    private static func status(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count > 12 else { return nil }
        var end = 12
        while end + 3 < bytes.count {
            // CR LF CR LF, found by the second LF, since few bytes are one.
            if bytes[end + 3] == 0x0A, bytes[end + 2] == 0x0D, bytes[end + 1] == 0x0A, bytes[end] == 0x0D { break }
            end += 1
        }
        guard end + 3 < bytes.count else { return nil }
        let head = UnsafeRawBufferPointer(rebasing: bytes[..<end])
        guard let length = contentLength(head) else { return 0 }
        if bytes.count < end + 4 + length { return nil }
        return bytes[9..<12].reduce(0) { $0 * 10 + Int($1) - 48 }
    }

    private static let name = Array("\nContent-Length: ".utf8)

    private static func contentLength(_ head: UnsafeRawBufferPointer) -> Int? {
        var index = 0
        while index + name.count < head.count {
            if head[index] == 0x0A, head[index...].starts(with: name) {
                return head[(index + name.count)...].prefix { $0 != 0x0D }.reduce(0) { $0 * 10 + Int($1) - 48 }
            }
            index += 1
        }
        return nil
    }
}
