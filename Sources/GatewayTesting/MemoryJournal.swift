public import GatewayCore
internal import Synchronization

/// A journal in memory that can be made to fail.
public final class MemoryJournal: Journal {
    private let timeline: Timeline
    private let failure = Mutex<JournalUnavailable?>(nil)

    /// Creates an empty journal. With the timeline of other test doubles, the order of events can be observed.
    public init(timeline: Timeline = Timeline()) { self.timeline = timeline }

    /// Makes durable records fail, until it is called with nil.
    public func fail(_ failure: JournalUnavailable?) { self.failure.withLock { $0 = failure } }

    /// All accepted records, durable or not, in order.
    public var records: [JournalRecord] {
        timeline.events.flatMap { event -> [JournalRecord] in
            switch event {
            case .recorded(let records): records
            case .noted(let record): [record]
            case .recordRejected, .textStored, .exchanged, .claimed, .prepared, .changed, .released: []
            }
        }
    }

    /// Returns the records of one kind, in order.
    public func records(_ kind: JournalRecord.Kind) -> [JournalRecord] { records.filter { $0.kind == kind } }

    /// Stores the records, or fails.
    public func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {
        if let failure = outage {
            timeline.add(.recordRejected(records))
            throw failure
        }
        timeline.add(.recorded(records))
    }

    /// Stores the record, also while durable records fail.
    public func append(_ record: JournalRecord) { timeline.add(.noted(record)) }

    /// The configured failure.
    public var outage: JournalUnavailable? { failure.withLock { $0 } }
}
