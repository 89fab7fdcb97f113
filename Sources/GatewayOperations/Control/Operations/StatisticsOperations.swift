internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `statistics minutes`: counts the calls of each minute of the last 24 hours.
struct MinuteStatisticsOperation: ControlOperation {
    static let name = "statistics minutes"
    static let arguments: Set<String> = ["since", "until"]

    let statistics: any CallStatistics

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let (since, until) = (try arguments.time("since"), try arguments.time("until"))
        let found = try await withStatistics { () async throws(HistoryUnavailable) in
            try await statistics.minutes(since: since, until: until)
        }
        let bounds = LatencyBuckets.bounds.map { JSONValue.number("\($0)") }
        try await context.send(
            .object(
                found.coverage.members + [
                    .init("latency_bounds_ms", .array(bounds)), .init("minutes", .array(found.minutes.map(\.item))),
                ]))
    }
}

/// `statistics pairs`: counts the sends of each sender to each recipient within a range of time.
struct PairStatisticsOperation: ControlOperation {
    static let name = "statistics pairs"
    static let arguments: Set<String> = ["user", "from", "to", "result", "since", "until", "limit"]

    let statistics: any CallStatistics
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        var query = PairQuery()
        query.user = try arguments.user("user", by: names)
        query.sender = try arguments.user("from", by: names)
        query.recipient = try arguments.user("to", by: names)
        if let word = try arguments.text("result") {
            guard let result = SendClass(rawValue: word) else {
                throw .refused("result must be accepted, failed or refused.")
            }
            query.result = result
        }
        query.since = try arguments.time("since")
        query.until = try arguments.time("until")
        if let limit = try arguments.number("limit", in: 1...PairQuery.maximumLimit) { query.limit = limit }
        let found = try await withStatistics { [query] () async throws(HistoryUnavailable) in
            try await statistics.pairs(query)
        }
        try await context.send(
            .object(
                found.coverage.members + [
                    .init("since", .string(found.range.lowerBound.description)),
                    .init("until", .string(found.range.upperBound.description)),
                    .init("total", .object(found.total.members)),
                    .init("others", .object(found.others.members)),
                    .init("omitted_pairs", .number("\(found.omittedPairs)")),
                    .init("omitted", .object(found.omitted.members)),
                    .init("pairs", .array(found.rows.map(\.item))),
                ]))
    }
}

/// Runs a query on the statistics and converts its error for an operator.
private func withStatistics<Value>(
    _ body: () async throws(HistoryUnavailable) -> Value
) async throws(ControlError) -> Value {
    do throws(HistoryUnavailable) {
        return try await body()
    } catch {
        throw .unavailable("The statistics cannot be used: \(error.detail)")
    }
}

extension StatisticsCoverage {
    fileprivate var members: [JSONValue.Member] {
        [
            .init("complete", .bool(isComplete)),
            .init("counted_from", countedFrom.map { .string($0.description) } ?? .null),
            .init("counted_until", countedUntil.map { .string($0.description) } ?? .null),
        ] + (nextNumber.map { [.init("next_seq", .number("\($0)"))] } ?? [])
    }
}

extension SendCounts {
    fileprivate var members: [JSONValue.Member] {
        [
            .init("accepted", .number("\(accepted)")), .init("failed", .number("\(failed)")),
            .init("refused", .number("\(refused)")),
        ]
    }
}

extension MinuteStatistics.Minute {
    fileprivate var item: JSONValue {
        var members: [JSONValue.Member] = [.init("at", .string(start.description))]
        members += sends.members
        members.append(.init("other_refusals", .number("\(otherRefusals)")))
        if latency.total > 0 {
            members.append(.init("latency", .array(latency.counts.map { .number("\($0)") })))
        }
        return .object(members)
    }
}

extension PairStatistics.Row {
    fileprivate var item: JSONValue {
        var members: [JSONValue.Member] = [.init("from", .string(sender))]
        if let recipient { members.append(.init("to", .string(recipient))) }
        members += counts.members
        members.append(.init("last", .string(last.description)))
        return .object(members)
    }
}
