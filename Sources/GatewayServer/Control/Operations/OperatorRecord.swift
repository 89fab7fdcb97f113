internal import GatewayCore

/// A change by an operator that is on disk, and may now be made.
struct OperatorRecord: Sendable {
    /// The journal's words for how an operator's change stands.
    enum Result: String, Sendable {
        /// It is about to be made. Where nothing follows under the same call, it was.
        case accepted
        /// It was not made, or not all of it.
        case failed
    }

    fileprivate let record: JournalRecord
    fileprivate let journal: any Journal

    init(record: JournalRecord, journal: any Journal) {
        self.record = record
        self.journal = journal
    }

    /// Notes that the change came to nothing after all.
    func failed() {
        var end = record
        end.result = Result.failed.rawValue
        journal.note(end)
    }
}
