internal import GatewayCore
internal import GatewaySupport

/// Parses the times of consecutive lines, in microseconds. Caches the last second, because most lines share it with the
/// line before.
struct LineTimestampReader {
    private var second: (text: [UInt8], microseconds: Int64) = ([], 0)

    /// Returns the time at which the line was written; nil if the line has no valid time.
    mutating func time(of line: JournalLineReader) -> Int64? {
        guard let bytes = line.bytes(of: "at") else { return nil }
        // The format is `2026-11-21T07:00:00.000000Z`.
        guard bytes.count == 27 else { return line.time?.microseconds }
        if !bytes.starts(with: second.text) || second.text.isEmpty {
            guard let time = line.time else { return nil }
            second = (Array(bytes.prefix(19)), time.seconds * 1_000_000)
        }
        var fraction: Int64 = 0
        for digit in bytes.dropFirst(20).prefix(6) {
            guard (0x30...0x39).contains(digit) else { return nil }
            fraction = fraction * 10 + Int64(digit - 0x30)
        }
        return second.microseconds + fraction
    }
}

extension JournalLineReader {
    /// The number of events that the line summarizes. Limited to 2^40, so that sums of forged counts cannot overflow.
    var count: Int64 { Int64(min(number("count") ?? 1, 1 << 40)) }
}
