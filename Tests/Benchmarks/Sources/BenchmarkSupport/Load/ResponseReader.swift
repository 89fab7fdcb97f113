import NIOCore

/// A minimal parser for the end and the status of responses. It supports only the format that the gateway writes.
struct ResponseReader {
    private var kept = ByteBuffer()

    /// Parses further bytes.
    ///
    /// - Returns: the status of a complete response, 0 for an invalid one, or nil if it is incomplete.
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
            // Search for the second LF of CR LF CR LF, because LF is rare.
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
