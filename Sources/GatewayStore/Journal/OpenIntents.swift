internal import GatewayCore
internal import GatewaySupport

/// Finds intents without an outcome, from the end of the journal back to the last `start` line. Recovery at that start
/// wrote the earlier missing outcomes, in the batch of the `start` line itself.
struct OpenIntents {
    let recovery: JournalRecovery
    let segments: [JournalSegmentName]
    /// The indexes of closed segments; nil to read every segment.
    let indexed: (any IndexedSegments)?

    /// The longest possible duration of a call, in microseconds: 15 minutes. Older segments are not read. A backend
    /// timeout is at most 10 minutes.
    static let horizon: Int64 = 900_000_000

    /// The identity of an intent and its outcome. A send to an audience has one intent for each recipient.
    private struct Key: Hashable {
        let call: String
        let recipient: String?

        init?(_ line: JournalLineReader) {
            guard let call = line.text("call") else { return nil }
            self.call = call
            recipient = line.text("action") == Action.send.rawValue ? line.text("recipient") : nil
        }
    }

    /// Returns the missing outcomes, in the order of their intents.
    func run() throws(FileFailure) -> [JournalEntry] {
        var search = Search()
        for (position, segment) in segments.enumerated().reversed() {
            // Skip the lines of a failed write at the end of a segment: the next segment reuses their numbers.
            let end = position + 1 < segments.count ? segments[position + 1].first : nil
            // Always read the last two segments, because the clock may have been set.
            search.stopsAtHorizon = segments.count - position > 2
            if let end, let index = indexed?.segment(first: segment.first, before: end),
                let lines = try? index.unmatchedLines()
            {
                guard search.begin(at: index.lastTime) else { break }
                for line in lines.reversed() { search.add(JournalLineReader(bytes: line[...])) }
                if index.hasStart { break }
                continue
            }
            // The segment was removed after it was listed.
            guard let bytes = try recovery.bytes(of: segment) else { continue }
            guard search.read(bytes, LineOrder(from: segment.first, before: end)) else { break }
        }
        return search.missing.reversed()
    }

    /// The state of the search, from the newest line to older ones.
    private struct Search {
        private var outcomes: [Key: Int] = [:]
        /// The outcomes of the intents without one, newest first.
        private(set) var missing: [JournalEntry] = []
        private var newest: WallTime?
        /// Whether the search ends at a segment whose last line is older than the newest one by more than the horizon.
        var stopsAtHorizon = false

        /// Begins a segment whose last line has the time. Returns false if the search ends before it.
        mutating func begin(at time: WallTime?) -> Bool {
            newest = newest ?? time
            guard stopsAtHorizon, let time, let newest else { return true }
            return newest.adding(-OpenIntents.horizon) <= time
        }

        /// Reads a segment. Returns false if the search ends in it.
        mutating func read(_ bytes: [UInt8], _ order: LineOrder) -> Bool {
            var order = order
            var isLast = true
            for line in order.lines(in: bytes).lazy.reversed().map(JournalLineReader.init(bytes:)) {
                if isLast {
                    isLast = false
                    guard begin(at: line.time) else { return false }
                }
                if line.kind == .start { return false }
                add(line)
            }
            return true
        }

        /// Adds the next older line.
        mutating func add(_ line: JournalLineReader) {
            guard let kind = line.kind, kind == .intent || kind == .outcome, let key = Key(line) else { return }
            if kind == .outcome {
                outcomes[key, default: 0] += 1
            } else if let count = outcomes[key], count > 0 {
                outcomes[key] = count == 1 ? nil : count - 1
            } else if let members = OpenIntents.members(of: line) {
                missing.append(.unknownAfterCrash(members: members))
            }
        }
    }

    /// Returns the members that an outcome copies from its intent; nil if the line is not genuine.
    fileprivate static func members(of line: JournalLineReader) -> [UInt8]? {
        guard line.verifiedHash != nil, let members = line.intentMembers,
            (try? JSONParser().parse(Array(line.bytes).span)) != nil
        else { return nil }
        return members
    }
}
