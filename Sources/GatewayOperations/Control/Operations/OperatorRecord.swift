internal import GatewayCore

/// A change by an operator that is durably recorded and may now be made.
struct OperatorRecord: Sendable {
    /// The state of an operator's change, as the journal names it.
    enum Result: String, Sendable {
        /// The change is about to be made. Without a later record of the same call, it was made.
        case accepted
        /// The change failed, or only a part of it was made.
        case failed
    }

    fileprivate let record: JournalRecord
    fileprivate let journal: any Journal

    init(record: JournalRecord, journal: any Journal) {
        self.record = record
        self.journal = journal
    }

    /// Records that the change failed after all.
    func failed() {
        var end = record
        end.result = Result.failed.rawValue
        journal.append(end)
    }
}
