import GatewayCore
import GatewayStore
import GatewaySupport

/// A row of the table for one call or for one record without a call. It combines all records of the call.
struct CallRow {
    private let records: [JSONValue]
    /// The node that served the call if there are several.
    private let node: String?

    /// Returns the columns of the table.
    static func columns(hasNodes: Bool) -> [ResultTable.Column] {
        [.init("at", "TIME")] + (hasNodes ? [.init("node", "NODE")] : []) + columns
    }

    private static let columns: [ResultTable.Column] = [
        .init("user", "USER"), .init("action", "ACTION"), .init("recipient", "RECIPIENT"),
        .init("pns", "PNS"), .init("result", "RESULT"), .init("rule", "RULE"), .init("limit", "LIMIT"),
        .init("peer", "PEER"), .init("count", "COUNT", absent: "1"), .init("call", "CALL"),
    ]

    /// The members with the same value in all records of a call that contain them.
    private static let common = [
        "call", "action", "user", "attempted", "authenticator", "peer", "audience", "pns", "platform", "registration",
        "tags", "session", "rule", "fence", "operator", "target",
    ]

    /// Creates the row of the lines; nil if none of them is a record.
    init?(_ lines: [AuditLine]) {
        records = lines.compactMap { AuditPrinter.record($0.bytes) }
        node = lines.first?.node
        if records.isEmpty { return nil }
    }

    /// The row as a JSON object. `results` contains each result with its number of records, `recipients` all
    /// recipients.
    var object: JSONValue {
        var members: [JSONValue.Member] = [.init("at", records[0]["at"] ?? .null)]
        if let node { members.append(.init("node", .string(node))) }
        members.append(.init("kind", records[0]["kind"] ?? .null))
        for name in Self.common { if let value = first(name) { members.append(.init(name, value)) } }
        if !recipients.isEmpty { members.append(.init("recipients", .array(recipients.map(JSONValue.string)))) }
        members.append(
            .init("results", .object(results.map { .init($0.word, .number("\($0.count)")) })))
        for name in ["status", "ms"] { if let value = last(name) { members.append(.init(name, value)) } }
        if !limits.isEmpty { members.append(.init("limits", .array(limits.map(JSONValue.string)))) }
        if !wouldLimit.isEmpty { members.append(.init("would-limit", .array(wouldLimit.map(JSONValue.string)))) }
        for name in ["reason", "count"] { if let value = first(name) { members.append(.init(name, value)) } }
        members.append(.init("records", .number("\(records.count)")))
        return .object(members)
    }

    /// The row for a table.
    var cells: JSONValue {
        var members: [JSONValue.Member] = []
        func add(_ name: String, _ text: String?) {
            if let text, !text.isEmpty { members.append(.init(name, .string(text))) }
        }
        for name in ["at", "pns", "rule", "peer", "call"] { add(name, first(name).map { AuditPrinter.plain($0) }) }
        add("node", node)
        add("user", text("user") ?? text("attempted").map { "\($0) (unverified)" })
        // A record without an action is named by its kind: start, stop, recovered.
        add("action", text("action") ?? text("kind"))
        let others = recipients.count > 1 ? " (\(recipients.count))" : ""
        add(
            "recipient",
            text("audience").map { "audience:\($0)\(others)" } ?? recipients.first.map { $0 + others }
                ?? unnamedRecipients)
        add(
            "result",
            results.count == 1
                ? results[0].word : results.map { "\($0.word) \($0.count)" }.joined(separator: ", "))
        add("limit", (limits + wouldLimit.map { "\($0) (shadow)" }).joined(separator: ", "))
        if let count = first("count") { members.append(.init("count", count)) }
        return .object(members)
    }

    /// The results with their numbers of records. Intents have no result.
    private var results: [(word: String, count: Int)] {
        var found: [(word: String, count: Int)] = []
        for record in records {
            guard case .string(let word)? = record["result"] else { continue }
            if let place = found.firstIndex(where: { $0.word == word }) {
                found[place].count += 1
            } else {
                found.append((word, 1))
            }
        }
        return found
    }

    private var recipients: [String] { distinct { record in Self.strings(record["recipient"]) } }
    /// The reason of coalesced rejections of which no recipient is named: "and 14 others".
    private var unnamedRecipients: String? { text("user") == nil ? nil : text("reason") }
    private var limits: [String] { distinct { record in Self.strings(record["limit"]) } }
    private var wouldLimit: [String] { distinct { record in Self.strings(record["would-limit"]) } }

    private func distinct(_ texts: (JSONValue) -> [String]) -> [String] {
        var seen: Set<String> = []
        return records.flatMap(texts).filter { seen.insert($0).inserted }
    }

    private func first(_ name: String) -> JSONValue? { records.lazy.compactMap { $0[name] }.first }
    private func last(_ name: String) -> JSONValue? { records.lazy.reversed().compactMap { $0[name] }.first }
    private func text(_ name: String) -> String? { first(name).flatMap { Self.strings($0).first } }

    private static func strings(_ value: JSONValue?) -> [String] {
        switch value {
        case .string(let text)?: [text]
        case .array(let values)?: values.flatMap { strings($0) }
        case .null?, .bool?, .number?, .object?, nil: []
        }
    }
}
