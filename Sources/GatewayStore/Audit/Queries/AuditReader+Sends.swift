internal import GatewayCore
internal import GatewaySupport

extension AuditReader {
    /// The outcome results that state that the send never reached the backend.
    private static let unsent: Set = [CallResult.backendUnreachable.rawValue, CallResult.overloaded.rawValue]

    /// Returns the newest sends to the user that may have reached the backend, newest first.
    func received(by user: UserName, since: WallTime, limit: Int) throws -> [ReceivedNotification] {
        var newest: [ReceivedNotification?] = []
        func isReceived(_ kind: String?, _ time: Int64, _ result: String?) -> Bool {
            time >= since.microseconds && kind == JournalRecord.Kind.outcome.rawValue
                && !(result.map(Self.unsent.contains) ?? false)
        }
        func notification(_ sender: String?, _ service: String?, _ time: Int64) -> ReceivedNotification? {
            guard let sender = sender.flatMap(UserName.init(canonical:)),
                let service = service.flatMap(PushService.init(rawValue:))
            else { return nil }
            return ReceivedNotification(sender: sender, time: WallTime(microseconds: time), service: service)
        }
        for segment in try segments(since: since.microseconds).reversed() {
            guard newest.count < limit else { break }
            var appended: [ReceivedNotification?] = []
            try visitUnindexed(segment) { line in
                guard isSend(line, to: user),
                    isReceived(line.reader.text("kind"), line.time, line.reader.text("result"))
                else { return }
                appended.append(notification(line.reader.text("user"), line.reader.text("pns"), line.time))
            }
            newest += appended.suffix(limit - newest.count).reversed()
            for index in segment.indexes.reversed() where newest.count < limit {
                let rows = IndexedRows(index)
                _ = try rows.sends(to: user, newestFirst: true) { send in
                    guard isReceived(send.kind, send.time, send.result) else { return true }
                    newest.append(notification(try rows.name(send.sender), send.service, send.time))
                    return newest.count < limit
                }
            }
        }
        return newest.compactMap(\.self)
    }

    /// Returns the senders who notified the user since the time, most frequent first.
    func senders(to user: UserName, since: WallTime) throws -> [SenderSummary] {
        var totals: [String: SenderTotals] = [:]
        for segment in try segments(since: since.microseconds) {
            for index in segment.indexes {
                let rows = IndexedRows(index)
                var found: [UInt32: SenderTotals] = [:]
                _ = try rows.sends(to: user, newestFirst: false) { send in
                    if send.time >= since.microseconds, send.sender != SegmentIndex.none {
                        found[send.sender, default: SenderTotals()]
                            .add(send.kind, send.time, send.service, send.result, send.count)
                    }
                    return true
                }
                for (sender, part) in found {
                    if let sender = try rows.name(sender) { totals[sender, default: SenderTotals()].add(part) }
                }
            }
            try visitUnindexed(segment) { line in
                guard line.time >= since.microseconds, isSend(line, to: user), let sender = line.reader.text("user"),
                    let kind = line.reader.text("kind")
                else { return }
                totals[sender, default: SenderTotals()]
                    .add(kind, line.time, line.reader.text("pns"), line.reader.text("result"), line.reader.count)
            }
        }
        return totals.sorted { ($1.value.sent, $0.key) < ($0.value.sent, $1.key) }.compactMap { sender, total in
            UserName(canonical: sender).map { sender in
                SenderSummary(
                    sender: sender, count: max(0, total.sent), first: total.first.map(WallTime.init(microseconds:)),
                    last: total.last.map(WallTime.init(microseconds:)), platforms: total.platforms.sorted(),
                    refused: Int(total.rejected))
            }
        }
    }

    private func isSend(_ line: SegmentScan.Line, to user: UserName) -> Bool {
        line.hasMember("recipient", equalTo: user.text) && line.hasMember("action", equalTo: Action.send.rawValue)
    }

    /// The totals of one sender. Counts intents, minus the outcomes of sends that never reached the backend.
    private struct SenderTotals {
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
                if let result, AuditReader.unsent.contains(result) { sent -= 1 }
            case .rejection:
                rejected = rejected.addingReportingOverflow(count).partialValue
            case .replay, .operator, .start, .stop, .recovered, .checkpoint, .retired, .nodeHead, nil:
                break
            }
        }

        mutating func add(_ other: SenderTotals) {
            sent += other.sent
            if let time = other.first { first = min(first ?? time, time) }
            if let time = other.last { last = max(last ?? time, time) }
            platforms.formUnion(other.platforms)
            rejected = rejected.addingReportingOverflow(other.rejected).partialValue
        }
    }
}
