internal import GatewayCore

/// Which refusals are written down, so that nobody can fill the disk by being refused: the first of its kind at once, then one
/// a second that says how many it stands for, and no more than so many of all kinds in a second; the rest are one record.
///
/// A value: times are told to it. Bounded: kinds beyond the capacity are among the rest.
struct MergedRefusals {
    /// Refusals that count together.
    struct Kind: Hashable {
        let user: UserName?
        let peer: Peer.Address?
        let code: String?
        let rule: String?
        let limit: String?

        /// Of a known caller by name, of any other by address.
        init(_ record: JournalRecord) {
            user = record.facts?.user
            peer = user == nil ? record.facts?.peer.address : nil
            code = record.result
            rule = record.facts?.rule
            limit = record.facts?.limit
        }
    }

    private struct Entry {
        var written: Int64
        var waiting = 0
        var last: JournalRecord

        /// The last of those that wait, for all of them.
        var record: JournalRecord {
            var record = last
            record.count = waiting > 1 ? waiting : nil
            return record
        }
    }

    /// How many records are written in a second, the one of the rest not counted.
    static let mostInASecond = 200
    /// How many kinds are told apart at a time.
    static let capacity = 4096
    /// The result of the record that stands for the rest.
    static let rest = "several"
    private static let second: Int64 = 1_000_000_000

    private var entries: [Kind: Entry] = [:]
    private var windowBegan: Int64?
    private var inWindow = 0
    private var others = 0
    private var othersWritten: Int64?

    /// Takes a refusal and returns what is to be written now.
    mutating func add(_ record: JournalRecord, now: MonotonicInstant) -> [JournalRecord] {
        let (kind, now) = (Kind(record), now.nanoseconds)
        guard var entry = entries[kind] else {
            guard entries.count < Self.capacity else {
                others += 1
                return restIfDue(now)
            }
            entries[kind] = Entry(written: now, last: record)
            return write(record, now)
        }
        entry.waiting += 1
        entry.last = record
        let isDue = now - entry.written >= Self.second
        entries[kind] = isDue ? Entry(written: now, last: record) : entry
        return isDue ? write(entry.record, now) : []
    }

    /// What is due though nothing comes; asked once a second.
    ///
    /// - Parameter all: Whether what is not due yet is written too: there will be no later.
    mutating func settle(now: MonotonicInstant, all: Bool = false) -> [JournalRecord] {
        let now = now.nanoseconds
        var due: [JournalRecord] = []
        for (kind, entry) in entries where all || now - entry.written >= Self.second {
            // One that nothing waits for is forgotten: the next of its kind is a first again.
            entries[kind] = entry.waiting > 0 && !all ? Entry(written: now, last: entry.last) : nil
            if entry.waiting > 0 { due += write(entry.record, now) }
        }
        return due + (all ? takeRest(now) : restIfDue(now))
    }

    /// How many kinds are told apart at present.
    var kinds: Int { entries.count }

    /// How many refusals wait to be written.
    var waiting: Int { entries.values.reduce(others) { $0 + $1.waiting } }

    private mutating func write(_ record: JournalRecord, _ now: Int64) -> [JournalRecord] {
        if now - (windowBegan ?? .min / 2) >= Self.second { (windowBegan, inWindow) = (now, 0) }
        guard inWindow < Self.mostInASecond else {
            others += record.count ?? 1
            return restIfDue(now)
        }
        inWindow += 1
        return [record]
    }

    private mutating func restIfDue(_ now: Int64) -> [JournalRecord] {
        now - (othersWritten ?? .min / 2) >= Self.second ? takeRest(now) : []
    }

    private mutating func takeRest(_ now: Int64) -> [JournalRecord] {
        guard others > 0 else { return [] }
        defer { (others, othersWritten) = (0, now) }
        return [JournalRecord(.refusal, result: Self.rest, count: others)]
    }
}
