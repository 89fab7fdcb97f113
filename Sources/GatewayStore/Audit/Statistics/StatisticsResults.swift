public import GatewayCore
public import GatewaySupport

/// Answers queries for numbers of calls: of one journal, or of the journals of all nodes. Safe to use from any thread.
package protocol CallStatistics: Sendable {
    /// Returns the calls of each minute. Minutes older than 24 hours are not counted.
    ///
    /// - Parameters:
    ///   - since: The earliest time; nil for 24 hours ago.
    ///   - until: The latest time, exclusive; nil for now.
    func minutes(since: WallTime?, until: WallTime?) async throws(HistoryUnavailable) -> MinuteStatistics

    /// Returns the sends of pairs of users.
    func pairs(_ query: PairQuery) async throws(HistoryUnavailable) -> PairStatistics
}

/// The part of the journal, or of the journals of all nodes, that a result of ``CallStatistics`` counts.
public struct StatisticsCoverage: Sendable, Hashable {
    /// The time from which all records are counted; nil if none are yet.
    public var countedFrom: WallTime?
    /// The time up to which records are counted; nil if none are yet.
    public var countedUntil: WallTime?
    /// The number of the next record that will be counted; nil for the journals of all nodes.
    public var nextNumber: UInt64?
    /// Whether all records of the counted range that the journal has are counted, up to ``countedUntil``.
    public var isComplete = false

    /// Creates the coverage of nothing.
    public init() {}
}

/// The calls of successive minutes.
public struct MinuteStatistics: Sendable, Hashable {
    /// The calls of one minute.
    public struct Minute: Sendable, Hashable {
        /// The start of the minute.
        public let start: WallTime
        /// The sends, by the time of their outcome or rejection.
        public let sends: SendCounts
        /// The rejected calls that were not sends, with failed logins.
        public let otherRefusals: Int
        /// The durations of the backend's responses to sends.
        public let latency: LatencyHistogram
    }

    /// Every minute of the range, in order.
    public let minutes: [Minute]
    /// The counted part of the journal.
    public let coverage: StatisticsCoverage
}

/// A query for sends by sender and recipient. A pair must match every condition that is set.
public struct PairQuery: Sendable, Hashable {
    /// The sender or the recipient.
    public var user: UserName?
    /// The sender.
    public var sender: UserName?
    /// The recipient.
    public var recipient: UserName?
    /// The class of results by which pairs are selected and sorted; nil for all.
    public var result: SendClass?
    /// The earliest time; nil for the earliest that is counted.
    public var since: WallTime?
    /// The latest time, exclusive; nil for now.
    public var until: WallTime?
    /// The maximum number of rows; at most ``maximumLimit`` are returned.
    public var limit: Int

    /// The largest useful ``limit``.
    public static let maximumLimit = 5000

    /// Creates a query for all pairs.
    public init(limit: Int = 1000) { self.limit = limit }
}

/// The sends of pairs of users within a range of time.
public struct PairStatistics: Sendable, Hashable {
    /// The sends of one sender to one recipient.
    public struct Row: Sendable, Hashable {
        /// The sender.
        public let sender: String
        /// The recipient; nil for rejected sends that had no valid recipient, or were to an audience as a whole.
        public let recipient: String?
        /// The sends by result.
        public let counts: SendCounts
        /// The time of the last send, of any result.
        public let last: WallTime
    }

    /// The pairs with the most sends, the most frequent first.
    public let rows: [Row]
    /// The sends of all matching pairs.
    public let total: SendCounts
    /// The number of matching pairs that ``rows`` leaves out.
    public let omittedPairs: Int
    /// The sends of the pairs that ``rows`` leaves out.
    public let omitted: SendCounts
    /// The sends within the range whose pairs are no longer known, because the number of pairs is bounded. They may
    /// belong to any pair, so the counts of rows are lower bounds if there are any. ``total`` excludes them.
    public let others: SendCounts
    /// The range that was counted, which consists of whole hours or days and may be wider than the queried one.
    public let range: Range<WallTime>
    /// The counted part of the journal.
    public internal(set) var coverage: StatisticsCoverage
}
