internal import GatewayCore
internal import GatewaySupport

/// The conditions of a query: those on columns of the index, and the others, for which the line itself is read.
struct AuditFilter: Sendable {
    /// A condition on a member of the line that the index has a column for.
    struct Word: Sendable {
        let member: StaticString
        let column: Column
        let text: String
    }

    /// A column of the index that holds a word.
    enum Column: String, Sendable {
        case user, recipient, action, result, kind
    }

    /// The conditions on words, all of which must hold.
    let words: [Word]
    /// The id of the call; nil for all lines.
    let call: [UInt8]?
    private let since: Int64
    /// The time before which lines match, in microseconds; the maximum for all lines.
    let until: Int64
    /// The number before which lines match; nil for all.
    let before: UInt64?
    /// The number after the newest line of the first page; nil for the first page.
    let top: UInt64?
    /// Whether checkpoints do not match.
    let hidesChainRecords: Bool
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
        func add(_ member: StaticString, _ column: Column, _ text: String?) {
            if let text { words.append(Word(member: member, column: column, text: text)) }
        }
        add("user", .user, query.from?.text)
        add("user", .user, query.user?.text)
        add("recipient", .recipient, query.to?.text)
        add("action", .action, query.action?.rawValue ?? (query.from == nil ? nil : Action.send.rawValue))
        add("kind", .kind, query.kind?.rawValue)
        var otherConditions: [Rest] = []
        switch query.result {
        case AuditQuery.wouldReject?: otherConditions.append(.member("rule", Array(AuditQuery.wouldReject.utf8)))
        case AuditQuery.wouldLimit?: otherConditions.append(.wouldLimit)
        case let result: add("result", .result, result)
        }
        if let rule = query.rule { otherConditions.append(.member("rule", Self.written(rule))) }
        if let service = query.service { otherConditions.append(.member("pns", Self.written(service.rawValue))) }
        if let peer = query.peer { otherConditions.append(.member("peer", Self.written(peer))) }
        if let limit = query.limit { otherConditions.append(.limit(limit)) }
        self.words = words
        self.otherConditions = otherConditions
        call = query.call.map { Array($0.utf8) }
        since = query.since?.microseconds ?? .min
        until = query.until?.microseconds ?? .max
        before = query.before
        top = query.top
        hidesChainRecords = query.hidesChainRecords
    }

    /// The earliest time of a matching line, in microseconds.
    var earliest: Int64 { since }

    /// Whether lines must be read to decide whether they match.
    var needsLine: Bool { !otherConditions.isEmpty || hasCall }

    /// Whether the id of the call is a condition. An index finds the lines of a call by a digest of its id, so it may
    /// find lines of another one.
    var hasCall: Bool { call != nil }

    /// Returns whether the line matches the conditions on columns of the index and is in the page.
    func matchesColumns(_ line: JournalLineReader, at time: Int64) -> Bool {
        if let before, line.sequence.map({ $0 >= before }) ?? true { return false }
        return matchesColumnsOnAnyPage(line, at: time)
    }

    /// Returns whether the line matches the conditions on columns of the index, in the page or after it.
    func matchesColumnsOnAnyPage(_ line: JournalLineReader, at time: Int64) -> Bool {
        guard time >= since, until == .max || time < until else { return false }
        guard words.allSatisfy({ line.bytes(of: $0.member)?.elementsEqual($0.text.utf8) ?? false }) else {
            return false
        }
        if let call, !(line.bytes(of: "call")?.elementsEqual(call) ?? false) { return false }
        if hidesChainRecords, line.kind.map(AuditQuery.chainKinds.contains) ?? false { return false }
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

    /// The rows of a segment's index that may match, and the conditions on their columns.
    struct Columns {
        /// The candidates, in ascending order: the rows of the call, of the recipient or of the user, or all rows.
        let rows: [UInt32]
        fileprivate let user: UInt32?
        fileprivate let recipient: UInt32?
        fileprivate let times: Range<Int64>
        fileprivate let shapes: [Bool]
        fileprivate let before: UInt64?

        /// Returns whether the row matches. The id of a call is not compared.
        func matches(_ row: SegmentIndex.Row) -> Bool {
            (user == nil || row.user == user) && (recipient == nil || row.recipient == recipient)
                && times.contains(row.time) && (before.map { row.number < $0 } ?? true)
                && shapes.indices.contains(row.shape) && shapes[row.shape]
        }
    }

    /// Returns the conditions in the terms of a segment's index; nil if no line of the segment can match.
    func columns(_ reader: SegmentIndexReader) throws -> Columns? {
        let header = reader.index.header
        guard since < until, header.latest >= since, until == .max || header.earliest < until else { return nil }
        if let before, header.first >= before { return nil }
        var texts: [Column: String] = [:]
        for word in words {
            // Two different texts in one column cannot both match.
            guard texts[word.column] ?? word.text == word.text else { return nil }
            texts[word.column] = word.text
        }
        let shapes = try reader.shapes().map { shape in
            (texts[.action] ?? shape.action) == shape.action && (texts[.result] ?? shape.result) == shape.result
                && (texts[.kind] ?? shape.kind) == shape.kind
                && !(hidesChainRecords && AuditQuery.chainKinds.contains { $0.rawValue == shape.kind })
        }
        guard shapes.contains(true) else { return nil }
        let user = try texts[.user].map { try reader.name($0) }
        let recipient = try texts[.recipient].map { try reader.name($0) }
        // The segment has no line of this user, or none to this recipient.
        if case .some(.none) = user { return nil }
        if case .some(.none) = recipient { return nil }
        let rows: [UInt32]
        if let call {
            rows = try reader.rows(ofCall: call.withUnsafeBytes(SegmentIndex.CallKey.init))
        } else if let recipient = recipient ?? nil {
            rows = try reader.rows(ofRecipient: recipient)
        } else if let user = user ?? nil {
            rows = try reader.rows(ofUser: user)
        } else {
            rows = Array(0..<UInt32(header.count(of: .rows)))
        }
        if rows.isEmpty { return nil }
        return Columns(
            rows: rows, user: user ?? nil, recipient: recipient ?? nil, times: since..<until, shapes: shapes,
            before: before)
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
