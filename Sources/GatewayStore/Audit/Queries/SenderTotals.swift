internal import GatewayCore
internal import GatewaySupport

/// The totals of one sender. Counts intents, minus the outcomes of sends that never reached the backend.
struct SenderTotals {
    var sent = 0
    var first: Int64?
    var last: Int64?
    var platforms: Set<String> = []
    var rejected: Int64 = 0

    mutating func add(_ kind: String, _ time: Int64, _ service: String?, _ result: String?, _ count: Int64) {
        switch JournalRecord.Kind(rawValue: kind) {
        case .intent:
            sent += 1
            first = min(first ?? time, time)
            last = max(last ?? time, time)
            if let service { platforms.insert(service) }
        case .outcome:
            if Self.isUnsent(result) { sent -= 1 }
        case .rejection:
            rejected = rejected.addingSaturating(count)
        case .replay, .operator, .start, .stop, .recovered, .checkpoint, .retired, .nodeHead, nil:
            break
        }
    }

    mutating func add(_ other: SenderTotals) {
        sent += other.sent
        if let time = other.first { first = min(first ?? time, time) }
        if let time = other.last { last = max(last ?? time, time) }
        platforms.formUnion(other.platforms)
        rejected = rejected.addingSaturating(other.rejected)
    }

    /// The outcome results that state that the send never reached the backend.
    private static let unsent: Set = [CallResult.backendUnreachable.rawValue, CallResult.overloaded.rawValue]

    /// Returns whether an outcome with this result states that the send never reached the backend.
    static func isUnsent(_ result: String?) -> Bool { result.map(unsent.contains) ?? false }

    /// Returns the summaries of the senders by name, most frequent first.
    static func summaries(_ totals: [String: SenderTotals]) -> [SenderSummary] {
        totals.sorted { ($1.value.sent, $0.key) < ($0.value.sent, $1.key) }.compactMap { sender, total in
            UserName(canonical: sender).map { sender in
                SenderSummary(
                    sender: sender, count: max(0, total.sent), first: total.first.map(WallTime.init(microseconds:)),
                    last: total.last.map(WallTime.init(microseconds:)), platforms: total.platforms.sorted(),
                    refused: Int(total.rejected))
            }
        }
    }
}

extension ReceivedNotification {
    /// Creates the notification of an outcome; nil if the sender or the service is missing or unknown.
    init?(_ sender: String?, _ service: String?, _ time: Int64) {
        guard let sender = sender.flatMap(UserName.init(canonical:)),
            let service = service.flatMap(PushService.init(rawValue:))
        else { return nil }
        self.init(sender: sender, time: WallTime(microseconds: time), service: service)
    }
}
