internal import GatewayCore
internal import GatewaySupport

/// Finds intents without an outcome, from the end of the journal back to the last `start` line. Recovery at that start
/// wrote the earlier missing outcomes, in the batch of the `start` line itself.
struct OpenIntents {
    let recovery: JournalRecovery
    let segments: [JournalSegmentName]

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
        var outcomes: [Key: Int] = [:]
        var missing: [JournalEntry] = []
        var newest: WallTime?
        var end = UInt64.max
        for (index, segment) in segments.reversed().enumerated() {
            // The segment was removed after it was listed.
            guard let bytes = try recovery.bytes(of: segment) else { continue }
            var lines = BackwardLines(bytes)
            var isLast = true
            while let line = lines.next().map(JournalLineReader.init(bytes:)) {
                // Skip the lines of a failed write at the end of a segment: the next segment reuses their numbers.
                guard let number = line.sequence, number < end else { continue }
                if isLast {
                    isLast = false
                    let time = line.time
                    newest = newest ?? time
                    // Always read the last two segments, because the clock may have been set.
                    if index > 1, let time, let newest, newest.adding(-Self.horizon) > time {
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

    /// Returns the members that an outcome copies from its intent; nil if the line is not genuine.
    private static func members(of line: JournalLineReader) -> [UInt8]? {
        guard line.verifiedHash != nil, let members = line.intentMembers,
            (try? JSONParser().parse(Array(line.bytes).span)) != nil
        else { return nil }
        return members
    }
}
