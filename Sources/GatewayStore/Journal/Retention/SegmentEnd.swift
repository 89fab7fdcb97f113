internal import GatewayCore

/// The last line of a segment that counts.
struct SegmentEnd: Sendable, Hashable {
    /// Its number.
    let number: UInt64
    /// Its hash.
    let hash: SHA256.Digest
    /// When it was written.
    let time: WallTime

    /// The last whole line in the bytes of a segment's end; nil where it does not carry its own hash.
    init?(lastIn bytes: [UInt8]) {
        var lines = BackwardLines(bytes)
        guard let line = lines.next().map(JournalLineReader.init(bytes:)), let number = line.sequence,
            let hash = line.verifiedHash, let time = line.time
        else { return nil }
        self.number = number
        self.hash = hash
        self.time = time
    }

    /// The line of the number in the bytes of a segment's end; nil where it is not there, or does not carry its own hash.
    init?(number: UInt64, in bytes: [UInt8]) {
        var lines = BackwardLines(bytes)
        while let line = lines.next().map(JournalLineReader.init(bytes:)) {
            guard line.sequence == number else {
                // What lies behind it is void; what lies before it is not it.
                if let other = line.sequence, other < number { return nil }
                continue
            }
            guard let hash = line.verifiedHash, let time = line.time else { return nil }
            self.number = number
            self.hash = hash
            self.time = time
            return
        }
        return nil
    }
}
