public import GatewaySupport

/// A place between two lines of the journal.
public struct JournalPosition: Sendable, Hashable {
    /// The number of the next line; 0 for the oldest line that the journal contains.
    public let next: UInt64
    /// The number of the first line of the segment to which ``offset`` applies.
    public let segment: UInt64
    /// The offset of the next line in that segment. A wrong offset costs only the time to search the segment.
    public let offset: Int

    /// Creates a position from its parts.
    public init(next: UInt64, segment: UInt64, offset: Int) {
        self.next = next
        self.segment = segment
        self.offset = offset
    }

    /// Creates the position before a line, whose segment is searched.
    public init(before number: UInt64) { self.init(next: number, segment: 0, offset: 0) }

    /// The position before the oldest line that the journal contains.
    public static let oldest = JournalPosition(before: 0)
}

/// Successive lines of the journal.
public struct JournalExcerpt: Sendable {
    /// The lines, each with its line feed.
    public internal(set) var lines: [UInt8] = []
    /// The number of lines.
    public internal(set) var count = 0
    /// The time of the first line; nil without lines.
    public internal(set) var firstTime: WallTime?
    /// The number of lines between the start position and the last line that the journal no longer contains.
    public internal(set) var missing: UInt64 = 0
    /// The position after the last line.
    public internal(set) var position: JournalPosition

    init(at position: JournalPosition) { self.position = position }
}
