internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `sends list`: lists the sends of the journal, one result a call, the newest first.
struct ListSendsOperation: ControlOperation {
    static let name = "sends list"
    static let arguments = AuditQuery.arguments

    let calls: any CallHistory
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        var query = try AuditQuery(arguments, names: names)
        query.action = .send
        try await context.send(pageOf: query, isOfCalls: true, from: calls, item: RecordedSend.item)
    }
}

/// `refusals list`: lists the rejected calls of the journal, one result a record, the newest first.
struct ListRefusalsOperation: ControlOperation {
    static let name = "refusals list"
    static let arguments = AuditQuery.arguments

    let calls: any CallHistory
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        var query = try AuditQuery(arguments, names: names)
        query.kind = .rejection
        try await context.send(pageOf: query, isOfCalls: false, from: calls, item: Self.item)
    }

    /// The members of a record and their names in the result.
    private static let members = [
        ("seq", "seq"), ("at", "at"), ("call", "call"), ("user", "user"), ("attempted", "attempted"),
        ("action", "action"), ("recipient", "to"), ("audience", "audience"), ("pns", "platform"), ("result", "result"),
        ("reason", "reason"), ("status", "status"), ("rule", "rule"), ("limit", "limit"),
        ("authenticator", "authenticator"), ("peer", "peer"), ("count", "count"),
    ]

    private static func item(_ records: [JSONValue]) -> JSONValue? {
        guard let record = records.first else { return nil }
        return .object(members.compactMap { name, shown in record[name].map { .init(shown, $0) } })
    }
}

/// The records of one send as one result.
private enum RecordedSend {
    /// The members that all records of the call have in common, and their names in the result.
    private static let common = [
        ("user", "from"), ("attempted", "attempted"), ("audience", "audience"), ("pns", "platform"), ("rule", "rule"),
        ("limit", "limit"), ("reason", "reason"), ("peer", "peer"), ("count", "count"),
    ]

    static func item(_ records: [JSONValue]) -> JSONValue? {
        guard let first = records.first, let call = first["call"] else { return nil }
        var members: [JSONValue.Member] = [.init("at", first["at"] ?? .null), .init("call", call)]
        for (name, shown) in common {
            if let value = records.lazy.compactMap({ $0[name] }).first { members.append(.init(shown, value)) }
        }
        var recipients: [String] = []
        for case let recipient? in records.map({ $0["recipient"]?.string }) where !recipients.contains(recipient) {
            recipients.append(recipient)
        }
        members.append(.init("to", .array(recipients.map(JSONValue.string))))
        let results = counted(records.compactMap { $0["result"]?.string })
        members.append(
            .init("result", .string(results.isEmpty ? "pending" : results.count == 1 ? results[0].word : "mixed")))
        if !results.isEmpty {
            members.append(.init("results", .object(results.map { .init($0.word, .number("\($0.count)")) })))
        }
        for name in ["status", "ms"] {
            if let value = records.lazy.reversed().compactMap({ $0[name] }).first { members.append(.init(name, value)) }
        }
        return .object(members)
    }

    /// Returns each word with its number, in the order of their first occurrence.
    private static func counted(_ words: [String]) -> [(word: String, count: Int)] {
        var found: [(word: String, count: Int)] = []
        for word in words {
            if let index = found.firstIndex(where: { $0.word == word }) {
                found[index].count += 1
            } else {
                found.append((word, 1))
            }
        }
        return found
    }
}

extension AuditQuery {
    /// The names of the arguments of lists of the journal.
    fileprivate static let arguments: Set<String> = ["from", "to", "user", "platform", "result", "since", "until"]

    /// Creates a query from the arguments of a request.
    fileprivate init(_ arguments: ControlArguments, names: NameRules) throws(ControlError) {
        self.init()
        from = try arguments.user("from", by: names)
        to = try arguments.user("to", by: names)
        user = try arguments.user("user", by: names)
        if let text = try arguments.text("platform") {
            guard let platform = Platform(word: text) else { throw .refused("platform is not a push service.") }
            service = platform.service
        }
        if let word = try arguments.text("result") {
            guard Self.resultWords.contains(word) else { throw .refused("result is not a result of the journal.") }
            result = word
        }
        since = try arguments.time("since")
        until = try arguments.time("until")
    }
}

extension ControlContext {
    /// Sends the requested page of a list of the journal. Each result names its node if there are several.
    ///
    /// - Parameter item: Returns the result of a row's records; nil leaves the row out.
    fileprivate func send(
        pageOf query: AuditQuery, isOfCalls: Bool, from history: any CallHistory,
        item: @Sendable ([JSONValue]) -> JSONValue?
    ) async throws(ControlError) {
        let limit = page?.limit ?? OperatorLists.defaultLength
        let found: HistoryPage?
        do throws(HistoryUnavailable) {
            found = try await history.page(query, after: page?.after, limit: limit, isOfCalls: isOfCalls)
        } catch {
            throw .unavailable("The journal cannot be read: \(error.detail)")
        }
        guard let found else { throw .malformed("cursor is not one of this list.") }
        for row in found.rows {
            // A line that is not JSON is damage, which the verification reports.
            let records = row.compactMap { try? JSONParser(memberLimit: 4096).parse($0.bytes.span) }
            guard case .object(let members)? = item(records) else { continue }
            let node = row.first?.node.map { JSONValue.Member("node", .string($0)) }
            try await send(.object(members + [node].compactMap(\.self)))
        }
        if let next = found.next, page != nil { try await output(.next(next)) }
    }
}

/// The bounds of lists that are not complete.
enum OperatorLists {
    /// The number of items of a list of the journal without a page.
    static let defaultLength = 100
    /// The number of received notifications of a user.
    static let receivedNotifications = 100
}
