internal import GRDB
internal import GatewayCore
internal import GatewaySupport

/// The conditions of a query: those on columns of the index, and the others, for which the line itself is read.
struct AuditFilter: Sendable {
    /// A condition on a member of the line, and the index column that holds its word.
    private struct Word: Sendable {
        let member: StaticString
        let column: String
        let text: String
    }

    private let words: [Word]
    private let call: [UInt8]?
    private let since: Int64
    private let until: Int64
    private let hidesCheckpoints: Bool
    private let otherConditions: [Rest]

    private enum Rest: Sendable {
        /// The member must have this text, in the escaped form of the line.
        case member(StaticString, [UInt8])
        /// The limit with this name rejected the call, or would have as a shadow limit.
        case limit(String)
        /// At least one shadow limit would have rejected the call.
        case wouldLimit
    }

    init(_ query: AuditQuery) {
        var words: [Word] = []
        func add(_ member: StaticString, _ column: String, _ text: String?) {
            if let text { words.append(Word(member: member, column: column, text: text)) }
        }
        add("user", "user", query.from?.text)
        add("user", "user", query.user?.text)
        add("recipient", "recipient", query.to?.text)
        add("action", "action", query.action?.rawValue ?? (query.from == nil ? nil : Action.send.rawValue))
        var otherConditions: [Rest] = []
        switch query.result {
        case AuditQuery.wouldReject?: otherConditions.append(.member("rule", Array(AuditQuery.wouldReject.utf8)))
        case AuditQuery.wouldLimit?: otherConditions.append(.wouldLimit)
        case let result: add("result", "result", result)
        }
        if let rule = query.rule { otherConditions.append(.member("rule", Self.written(rule))) }
        if let peer = query.peer { otherConditions.append(.member("peer", Self.written(peer))) }
        if let limit = query.limit { otherConditions.append(.limit(limit)) }
        self.words = words
        self.otherConditions = otherConditions
        call = query.call.map { Array($0.utf8) }
        since = query.since?.microseconds ?? .min
        until = query.until?.microseconds ?? .max
        hidesCheckpoints = query.hidesCheckpoints
    }

    /// The earliest time of a matching line, in microseconds.
    var earliest: Int64 { since }

    /// Whether lines must be read to decide whether they match.
    var hasOtherConditions: Bool { !otherConditions.isEmpty }

    /// Returns whether the line matches the conditions on columns of the index.
    func matchesColumns(_ line: JournalLineReader, at time: Int64) -> Bool {
        guard time >= since, until == .max || time < until else { return false }
        guard words.allSatisfy({ line.bytes(of: $0.member)?.elementsEqual($0.text.utf8) ?? false }) else {
            return false
        }
        if let call, !(line.bytes(of: "call")?.elementsEqual(call) ?? false) { return false }
        if hidesCheckpoints, line.kind == .checkpoint { return false }
        return true
    }

    /// Returns whether the line matches the conditions that the index has no columns for.
    func matchesOtherConditions(_ line: JournalLineReader) -> Bool {
        otherConditions.allSatisfy { condition in
            switch condition {
            case .member(let name, let text): line.bytes(of: name)?.elementsEqual(text) ?? false
            case .wouldLimit: line.bytes.endOfMemberName("would-limit") != nil
            case .limit(let name): Self.limits(of: line).contains(name)
            }
        }
    }

    /// Returns the SQL condition on rows of the index; nil if a word of the query occurs in no record.
    func condition(_ database: Database) throws -> (sql: String, arguments: StatementArguments)? {
        var conditions: [String] = []
        var arguments: StatementArguments = []
        for word in words {
            guard let number = try AuditIndex.wordNumber(word.text, database) else { return nil }
            conditions.append("\(word.column) = ?")
            arguments += [number]
        }
        if let call {
            conditions.append("call = CAST(? AS BLOB)")
            arguments += [String(decoding: call, as: UTF8.self)]
        }
        if since > .min {
            conditions.append("at >= ?")
            arguments += [since]
        }
        if until < .max {
            conditions.append("at < ?")
            arguments += [until]
        }
        if hidesCheckpoints,
            let number = try AuditIndex.wordNumber(JournalRecord.Kind.checkpoint.rawValue, database)
        {
            conditions.append("kind <> ?")
            arguments += [number]
        }
        return (conditions.map { " AND \($0)" }.joined(), arguments)
    }

    /// The names of the limits in the line: the limit that rejected the call, and the shadow limits.
    private static func limits(of line: JournalLineReader) -> [String] {
        guard line.bytes.endOfMemberName("limit") != nil || line.bytes.endOfMemberName("would-limit") != nil,
            let record = try? JSONParser().parse(Array(line.bytes).span)
        else { return [] }
        var names: [String] = []
        if case .string(let name)? = record["limit"] { names.append(name) }
        if case .array(let values)? = record["would-limit"] {
            for case .string(let name) in values { names.append(name) }
        }
        return names
    }

    /// The text in the escaped form of a line, without quotation marks.
    private static func written(_ text: String) -> [UInt8] {
        Array(JSONWriter.bytes(of: .string(text)).dropFirst().dropLast())
    }
}
