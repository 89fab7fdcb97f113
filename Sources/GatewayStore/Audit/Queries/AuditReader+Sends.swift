internal import GatewayCore
internal import GatewaySupport

extension AuditReader {
    /// Returns the newest sends to the user that may have reached the backend, newest first.
    func received(by user: UserName, since: WallTime, limit: Int) throws -> [ReceivedNotification] {
        var newest: [ReceivedNotification?] = []
        func isReceived(_ kind: String?, _ time: Int64, _ result: String?) -> Bool {
            time >= since.microseconds && kind == JournalRecord.Kind.outcome.rawValue
                && !SenderTotals.isUnsent(result)
        }
        for segment in try segments(since: since.microseconds).reversed() {
            guard newest.count < limit else { break }
            var appended: [ReceivedNotification?] = []
            try visitUnindexed(segment) { line in
                guard isSend(line, to: user),
                    isReceived(line.reader.text("kind"), line.time, line.reader.text("result"))
                else { return }
                appended.append(
                    ReceivedNotification(line.reader.text("user"), line.reader.text("pns"), line.time))
            }
            newest += appended.suffix(limit - newest.count).reversed()
            for index in segment.indexes.reversed() where newest.count < limit {
                let rows = IndexedRows(index)
                _ = try rows.sends(to: user, newestFirst: true) { send in
                    guard isReceived(send.kind, send.time, send.result) else { return true }
                    newest.append(ReceivedNotification(try rows.name(send.sender), send.service, send.time))
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
        return SenderTotals.summaries(totals)
    }

    private func isSend(_ line: SegmentScan.Line, to user: UserName) -> Bool {
        line.hasMember("recipient", equalTo: user.text) && line.hasMember("action", equalTo: Action.send.rawValue)
    }
}
