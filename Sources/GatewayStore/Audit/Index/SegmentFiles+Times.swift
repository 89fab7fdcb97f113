internal import GatewaySupport

extension SegmentFiles {
    /// The number of bytes at an end of a segment that are searched for a line.
    private static let searchedBytes = 64 << 10

    /// Returns the time of a segment's first line; nil if it has none, or a very long one.
    func firstTime(of segment: ListedSegment) throws(FileFailure) -> Int64? {
        let bytes = try ifPresent { () throws(FileFailure) in
            try read(segment.name, from: 0, count: Self.searchedBytes)
        }
        guard let bytes, let end = ChainCheck.endOfLine(in: bytes, from: 0) else { return nil }
        return JournalLineReader(bytes: bytes[..<end]).time?.microseconds
    }

    /// Returns the time of the last line of a closed segment; nil if none is found near its end.
    ///
    /// - Parameter end: The number of the next segment's first line.
    func lastTime(of segment: ListedSegment, before end: UInt64) throws(FileFailure) -> Int64? {
        let start = max(0, Int(clamping: segment.size) - Self.searchedBytes)
        let bytes = try ifPresent { () throws(FileFailure) in
            try read(segment.name, from: start, count: Self.searchedBytes)
        }
        var order = LineOrder(from: segment.name.first, before: end)
        for line in order.lines(in: bytes ?? []).reversed() {
            if let time = JournalLineReader(bytes: line).time { return time.microseconds }
        }
        return nil
    }
}
