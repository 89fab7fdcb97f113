internal import GatewayCore
internal import GatewaySupport

/// The last valid line of a segment.
struct SegmentTail: Sendable, Hashable {
    /// The line's number.
    let number: UInt64
    /// The line's hash.
    let hash: SHA256.Digest
    /// The time at which the line was written.
    let time: WallTime
    private let bytes: ArraySlice<UInt8>

    /// Returns whether the line is a checkpoint that one of the keys signed.
    func isCheckpoint(signedBy keys: [Ed25519.PublicKey]) -> Bool {
        JournalLineReader(bytes: bytes).isCheckpoint(signedBy: keys)
    }

    /// Finds the last complete line in the bytes of a segment's end; nil if the line does not match its own hash.
    init?(lastIn bytes: [UInt8]) {
        var lines = BackwardLines(bytes)
        guard let line = lines.next().map(JournalLineReader.init(bytes:)), let number = line.sequence,
            let hash = line.verifiedHash, let time = line.time
        else { return nil }
        self.number = number
        self.hash = hash
        self.time = time
        self.bytes = line.bytes
    }

    /// Finds the line with the number in the bytes of a segment's end; nil if it is missing or does not match its own
    /// hash.
    init?(number: UInt64, in bytes: [UInt8]) {
        var lines = BackwardLines(bytes)
        while let line = lines.next().map(JournalLineReader.init(bytes:)) {
            guard line.sequence == number else {
                // Skip later lines, which a failed write left. An earlier line means that the number is missing.
                if let other = line.sequence, other < number { return nil }
                continue
            }
            guard let hash = line.verifiedHash, let time = line.time else { return nil }
            self.number = number
            self.hash = hash
            self.time = time
            self.bytes = line.bytes
            return
        }
        return nil
    }
}
