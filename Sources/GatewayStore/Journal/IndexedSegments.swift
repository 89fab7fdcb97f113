package import GatewaySupport

/// The indexes of closed segments, so that a start need not read the segments themselves.
///
/// A segment without a usable index is read, so an index only saves time. It is compared with the segment's size and its
/// last line, whose hash covers the others; a segment that was changed without new hashes is a finding of verification.
package protocol IndexedSegments: Sendable {
    /// Returns the index of a closed segment; nil if it has none, or one that does not match the segment's size.
    ///
    /// - Parameters:
    ///   - first: The number of the segment's first line.
    ///   - end: The number of the next segment's first line.
    func segment(first: UInt64, before end: UInt64) -> (any IndexedSegment)?
}

/// The index of one closed segment. Both functions throw if the index is damaged or does not match the segment.
package protocol IndexedSegment {
    /// The time of the last line; nil if the segment has no valid line.
    var lastTime: WallTime? { get }
    /// Whether the segment contains a `start` record.
    var hasStart: Bool { get }

    /// Returns the intents and outcomes that have no counterpart in the segment, in order. Leaves out those before the
    /// last `start` record.
    func unmatchedLines() throws -> [[UInt8]]

    /// Returns the lines of sends with an idempotency key, in order; nil if there are more than the limit, because reading the
    /// whole segment is faster then.
    func keyedLines(atMost limit: Int) throws -> [[UInt8]]?
}
