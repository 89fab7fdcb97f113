internal import GatewayCore

/// Finds the intents that have no outcome, reading backwards to the last start: what was open before that got its outcome then,
/// in the same batch and before the `start` itself.
struct OpenIntents {
    let recovery: JournalRecovery
    let segments: [JournalSegmentName]

    /// No call lives this long, in microseconds, so no older segment is read: the longest that a backend can be given is 10 min.
    static let horizon: Int64 = 900_000_000

    /// An outcome belongs to the intent of its call; of a send to an audience there is one for each recipient.
    private struct Key: Hashable {
        let call: String
        let recipient: String?

        init?(_ line: JournalLineReader) {
            guard let call = line.text("call") else { return nil }
            self.call = call
            recipient = line.text("action") == Action.send.rawValue ? line.text("recipient") : nil
        }
    }

    /// The missing outcomes, in the order of their intents.
    func run() throws(FileFailure) -> [JournalEntry] {
        var outcomes: [Key: Int] = [:]
        var missing: [JournalEntry] = []
        var newest: WallTime?
        var end = UInt64.max
        for (place, segment) in segments.reversed().enumerated() {
            // Whoever removed it since it was listed meant it to go.
            guard let bytes = try recovery.bytes(of: segment) else { continue }
            var lines = BackwardLines(bytes)
            var isLast = true
            while let line = lines.next().map(JournalLineReader.init(bytes:)) {
                // What a failed batch left in a sealed segment is void: the next segment has its numbers.
                guard let number = line.sequence, number < end else { continue }
                if isLast {
                    isLast = false
                    let time = line.time
                    newest = newest ?? time
                    // The last two are always read, whatever the clock did.
                    if place > 1, let time, let newest, newest.adding(-Self.horizon) > time {
                        return missing.reversed()
                    }
                }
                guard let kind = line.kind else { continue }
                if kind == .start { return missing.reversed() }
                guard kind == .intent || kind == .outcome, let key = Key(line) else { continue }
                if kind == .outcome {
                    outcomes[key, default: 0] += 1
                } else if let count = outcomes[key], count > 0 {
                    outcomes[key] = count == 1 ? nil : count - 1
                } else if let members = Self.members(of: line) {
                    missing.append(.unknownAfterCrash(members: members))
                }
            }
            end = segment.first
        }
        return missing.reversed()
    }

    /// What an outcome repeats of its intent, unless the line is not what the journal wrote.
    private static func members(of line: JournalLineReader) -> [UInt8]? {
        guard line.verifiedHash != nil, let members = line.factMembers,
            (try? JSONParser().parse(Array(line.bytes).span)) != nil
        else { return nil }
        return members
    }
}
