internal import GatewayCore
internal import GatewaySupport

extension AuditScan {
    /// The outcome results that state that the send never reached the backend.
    private static let unsent = [CallResult.backendUnreachable.rawValue, CallResult.overloaded.rawValue]

    /// Returns the same result as `AuditIndex.received(by:since:limit:)`.
    func received(by user: UserName, since: WallTime, limit: Int) throws -> [ReceivedNotification] {
        var newest: [ReceivedNotification?] = []
        for (segment, end) in try segments(since: since.microseconds).reversed() {
            guard newest.count < limit else { break }
            var found: [ReceivedNotification?] = []
            try visit(segment, before: end) { line in
                guard line.time >= since.microseconds, isSend(line, to: user), line.reader.kind == .outcome,
                    !Self.unsent.contains(where: { line.hasMember("result", $0) })
                else { return }
                let sender = line.reader.text("user").flatMap(UserName.init(canonical:))
                let service = line.reader.text("pns").flatMap(PushService.init(rawValue:))
                found.append(
                    sender.flatMap { sender in
                        service.map {
                            ReceivedNotification(
                                sender: sender, time: WallTime(microseconds: line.time), service: $0)
                        }
                    })
            }
            newest += found.suffix(limit - newest.count).reversed()
        }
        return newest.compactMap(\.self)
    }

    /// Returns the same result as `AuditIndex.senders(to:since:)`.
    func senders(to user: UserName, since: WallTime) throws -> [SenderSummary] {
        var parts: [String: Parts] = [:]
        for (segment, end) in try segments(since: since.microseconds) {
            try visit(segment, before: end) { line in
                guard line.time >= since.microseconds, isSend(line, to: user), let sender = line.reader.text("user")
                else { return }
                parts[sender, default: Parts()].add(line)
            }
        }
        return parts.sorted { ($1.value.sent, $0.key) < ($0.value.sent, $1.key) }.compactMap { sender, parts in
            UserName(canonical: sender).map { sender in
                SenderSummary(
                    sender: sender, count: max(0, parts.sent), first: parts.first.map(WallTime.init(microseconds:)),
                    last: parts.last.map(WallTime.init(microseconds:)), platforms: parts.platforms.sorted(),
                    refused: Int(parts.refused))
            }
        }
    }

    /// The totals of one sender.
    private struct Parts {
        var sent = 0
        var first: Int64?
        var last: Int64?
        var platforms: Set<String> = []
        var refused: Int64 = 0

        mutating func add(_ line: Line) {
            switch line.reader.kind {
            case .intent:
                sent += 1
                first = min(first ?? line.time, line.time)
                last = max(last ?? line.time, line.time)
                if let service = line.reader.text("pns") { platforms.insert(service) }
            case .outcome:
                if AuditScan.unsent.contains(where: { line.hasMember("result", $0) }) { sent -= 1 }
            case .rejection:
                refused += line.reader.count
            case .replay, .operator, .start, .stop, .recovered, .checkpoint, .retired, nil:
                break
            }
        }
    }

    private func isSend(_ line: Line, to user: UserName) -> Bool {
        line.hasMember("recipient", user.text) && line.hasMember("action", Action.send.rawValue)
    }
}
