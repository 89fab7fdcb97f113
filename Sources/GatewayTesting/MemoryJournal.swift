public import GatewayCore
internal import Synchronization

/// A journal that keeps its records in memory, and refuses to when told.
public final class MemoryJournal: Journal {
    private let timeline: Timeline
    private let failure = Mutex<JournalUnavailable?>(nil)

    /// An empty journal; with a timeline of other doubles, order can be observed.
    public init(timeline: Timeline = Timeline()) { self.timeline = timeline }

    /// From now on durable records are refused, until this is called with nil.
    public func refuse(_ failure: JournalUnavailable?) { self.failure.withLock { $0 = failure } }

    /// All records that were accepted, durable or not, in order.
    public var records: [JournalRecord] {
        timeline.events.flatMap { event -> [JournalRecord] in
            switch event {
            case .recorded(let records): records
            case .noted(let record): [record]
            case .recordRefused, .exchanged, .claimed, .prepared, .changed, .released: []
            }
        }
    }

    /// The records of one kind, in order.
    public func records(_ kind: JournalRecord.Kind) -> [JournalRecord] { records.filter { $0.kind == kind } }

    /// Keeps the records, or refuses.
    public func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {
        if let failure = outage {
            timeline.add(.recordRefused(records))
            throw failure
        }
        timeline.add(.recorded(records))
    }

    /// Keeps the record, also while durable ones are refused.
    public func note(_ record: JournalRecord) { timeline.add(.noted(record)) }

    /// What it was told to refuse with.
    public var outage: JournalUnavailable? { failure.withLock { $0 } }
}
