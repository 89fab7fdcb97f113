package import GatewayCore

/// A page of a list for operators, the newest rows first.
package struct HistoryPage: Sendable, Hashable {
    /// The lines of each row: all lines of a call, or one line.
    package let rows: [[AuditLine]]
    /// The position of the next page; nil if no more lines match.
    package let next: String?

    /// Creates a page.
    package init(rows: [[AuditLine]], next: String?) {
        self.rows = rows
        self.next = next
    }
}

/// The recorded calls for the operators and users of a running gateway: those of its own journal, or those of all nodes.
///
/// Safe to use from any thread; callers resume on their own executors.
package protocol CallHistory: NotificationHistory {
    /// Returns a page of a list, the newest rows first. A page may have fewer rows than the limit although more exist,
    /// because only a limited number of lines is examined for it.
    ///
    /// - Parameters:
    ///   - query: The conditions. Its page is ignored.
    ///   - position: ``HistoryPage/next`` of the page before; nil for the first page.
    ///   - isOfCalls: Whether a row is a call with a matching line, with all of its lines. Otherwise it is one line.
    /// - Returns: Nil if the position is not one of this list.
    func page(
        _ query: AuditQuery, after position: String?, limit: Int, isOfCalls: Bool
    ) async throws(HistoryUnavailable) -> HistoryPage?
}

extension CallHistory {
    /// Returns all lines of a call in order; none if no journal has such a call.
    package func lines(ofCall call: String) async throws(HistoryUnavailable) -> [AuditLine] {
        var query = AuditQuery()
        query.call = call
        return try await page(query, after: nil, limit: 1, isOfCalls: true)?.rows.first ?? []
    }
}

extension RecordedHistory: CallHistory {
    /// Returns a page of the list of this gateway's journal. The position of a page is two numbers of lines: the one before
    /// which the page begins, and the one after the newest line of the first page.
    package func page(
        _ query: AuditQuery, after position: String?, limit: Int, isOfCalls: Bool
    ) async throws(HistoryUnavailable) -> HistoryPage? {
        var query = query
        if let position {
            let numbers = position.split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
            guard numbers.count == 2, let before = numbers[0], let top = numbers[1] else { return nil }
            (query.before, query.top) = (before, top)
        }
        let found = try await page(query, limit: limit, isOfCalls: isOfCalls)
        return HistoryPage(
            rows: found.rows.map { row in row.map { AuditLine($0) } },
            next: found.next.map { "\($0)-\(found.top ?? $0)" })
    }
}
