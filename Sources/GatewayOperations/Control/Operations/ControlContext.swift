internal import GatewayCore
internal import GatewaySupport

/// The context of a running operation: the operator, the response, and the journal.
package struct ControlContext: Sendable {
    /// The operator.
    let requester: Operator
    /// The id of all journal records and log lines of this operation.
    let call: CallID
    let journal: any Journal
    /// The part of a list that was requested; nil for the whole list.
    var page: ControlPage?
    /// Passes on a part of the result. Waits while the operator reads more slowly than the operation proceeds.
    let output: @Sendable (ControlOutput) async throws(ControlError) -> Void

    /// Sends one result. A slow reader slows the operation down.
    ///
    /// Throws if the peer has disconnected. Changes made until then remain.
    func send(_ item: JSONValue) async throws(ControlError) { try await output(.item(item)) }

    /// Sends the totals of the operation, after the last item.
    func send(totals: JSONValue) async throws(ControlError) { try await output(.totals(totals)) }

    /// Sends the requested page of a list that is in memory. The position of a page is the number of items before it.
    func send(pageOf items: [JSONValue]) async throws(ControlError) {
        guard let page else {
            for item in items { try await send(item) }
            return
        }
        let start: Int
        if let after = page.after {
            guard let number = Int(after), number > 0 else { throw .malformed("cursor is not one of this list.") }
            start = number
        } else {
            start = 0
        }
        let rest = items.dropFirst(start)
        for item in rest.prefix(page.limit) { try await send(item) }
        if rest.count > page.limit { try await output(.next(String(start + page.limit))) }
    }

    /// Records durably a change that is about to be made. If this throws, the operation must not change anything.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - user: The user that the change concerns.
    ///   - target: The target if that is not a user: an address, a session, or `all`.
    @discardableResult
    func record(
        _ action: Action, user: UserName? = nil, target: String? = nil
    ) async throws(ControlError) -> OperatorRecord {
        var facts = CallFacts(call: call, peer: requester.peer)
        facts.action = action
        facts.user = user
        let record = JournalRecord(
            .operator, facts: facts, result: OperatorRecord.Result.accepted.rawValue, requester: requester,
            target: target)
        do throws(JournalUnavailable) {
            try await journal.record([record])
        } catch {
            throw .unavailable("Nothing was changed, because the change could not be recorded: \(error.detail)")
        }
        return OperatorRecord(record: record, journal: journal)
    }
}

/// A change by an operator that is durably recorded and may now be made.
package struct OperatorRecord: Sendable {
    /// The state of an operator's change, as the journal names it.
    package enum Result: String, Sendable {
        /// The change is about to be made. Without a later record of the same call, it was made.
        case accepted
        /// The change failed, or only a part of it was made.
        case failed
    }

    fileprivate let record: JournalRecord
    fileprivate let journal: any Journal

    init(record: JournalRecord, journal: any Journal) {
        self.record = record
        self.journal = journal
    }

    /// Records that the change failed after all.
    func failed() {
        var end = record
        end.result = Result.failed.rawValue
        journal.append(end)
    }
}
