public import GatewaySupport

// The results of a verification as members of a JSON object, for commands and the operator API.

extension JournalVerification.Report {
    /// The verified range and the recorded losses, without the finding.
    public var members: [JSONValue.Member] {
        [
            .init("good", .bool(isGood)), .init("first", .number("\(first)")), .init("last", .number("\(last)")),
            .init("lines", .number("\(lines)")), .init("segments", .number("\(segments)")),
            .init("first_at", firstTime.map { .string($0.description) } ?? .null),
            .init("last_at", lastTime.map { .string($0.description) } ?? .null),
            .init("checkpoints", .number("\(checkpoints)")), .init("signed_through", .number("\(signedThrough)")),
            .init("copies", .number("\(copiesSeen)")), .init("removed_through", .number("\(retiredThrough)")),
            .init("missing", .array(losses.map(\.item))),
        ]
    }
}

extension JournalVerification.Finding {
    /// The affected lines and the problem.
    public var members: [JSONValue.Member] {
        [
            .init("bad", .number("\(number)")), .init("bad_through", .number("\(through)")),
            .init("what", .string(what)),
        ]
    }
}

extension JournalVerification.Loss {
    /// The loss as an object.
    fileprivate var item: JSONValue {
        .object([
            .init("first", .number("\(lines.lowerBound)")), .init("through", .number("\(lines.upperBound)")),
            .init("recorded_in", .number("\(recordedIn)")), .init("at", .string(time)),
            .init("what", .string("\(self)")),
        ])
    }
}
