internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `calls show`: shows all records of one call, in the order of the journal.
struct ShowCallOperation: ControlOperation {
    static let name = "calls show"
    static let arguments: Set<String> = ["call"]

    let calls: any CallHistory

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        guard let call = try arguments.text("call") else { throw .malformed("call is missing.") }
        // No other text is searched for, because only the ids of calls are found without reading the journal.
        guard Self.isID(call) else { throw .notFound("call is not the id of a call.") }
        let lines: [AuditLine]
        do throws(HistoryUnavailable) {
            lines = try await calls.lines(ofCall: call)
        } catch {
            throw .unavailable("The journal cannot be read: \(error.detail)")
        }
        // A line that is not JSON is damage, which the verification reports.
        let records = lines.compactMap { try? JSONParser(memberLimit: 4096).parse($0.bytes.span) }
        guard !records.isEmpty else { throw .notFound("The journal has no such call.") }
        let node = lines.first?.node.map { JSONValue.Member("node", .string($0)) }
        try await context.send(
            .object(
                [.init("call", .string(call))] + [node].compactMap(\.self) + [.init("records", .array(records))]))
    }

    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}

/// `journal segments`: lists the segments of this gateway's journal, the newest first.
struct ListSegmentsOperation: ControlOperation {
    static let name = "journal segments"

    let history: RecordedHistory
    /// The name of this gateway if there are several.
    let node: String?

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        var before: UInt64?
        if let after = context.page?.after {
            guard let number = UInt64(after) else { throw .malformed("cursor is not one of this list.") }
            before = number
        }
        let limit = context.page?.limit ?? OperatorLists.defaultLength
        let found: [SegmentSummary]
        do throws(HistoryUnavailable) {
            found = try await history.segments(before: before, limit: limit + 1)
        } catch {
            throw .unavailable("The journal cannot be read: \(error.detail)")
        }
        for segment in found.prefix(limit) { try await context.send(segment.item(of: node)) }
        if found.count > limit, context.page != nil { try await context.output(.next("\(found[limit - 1].first)")) }
    }
}

extension SegmentSummary {
    fileprivate func item(of node: String?) -> JSONValue {
        let values: [(String, JSONValue?)] = [
            ("name", .string(name)), ("first", .number("\(first)")), ("last", last.map { .number("\($0)") }),
            ("first_at", earliest.map { .string($0.description) }), ("last_at", latest.map { .string($0.description) }),
            ("bytes", .number("\(bytes)")), ("closed", .bool(isClosed)), ("indexed", .bool(isIndexed)),
            ("checkpoint", endsWithCheckpoint.map { .bool($0) }), ("node", node.map(JSONValue.string)),
        ]
        return .object(values.compactMap { name, value in value.map { .init(name, $0) } })
    }
}
