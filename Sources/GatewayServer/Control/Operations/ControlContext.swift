internal import GatewayCore

/// What an operation has around it: who asks, where the answer goes, and the journal.
struct ControlContext: Sendable {
    /// The uid of who asks, as the kernel says.
    let operatorID: UInt32
    /// The id under which all of this is recorded and logged.
    let call: CallID
    let journal: any Journal
    /// Takes a line of the answer; returns once the system has taken it.
    let write: @Sendable ([UInt8]) async throws(ControlError) -> Void

    /// Sends one result, and waits until the system has taken it: who produces faster than the peer reads is slowed down.
    ///
    /// Throws where the peer is gone; what has been done by then stays done.
    func send(_ item: JSONValue) async throws(ControlError) {
        let line = ControlResponse.item(item).line
        guard line.count <= ControlProtocol.longestAnswer else { throw .refused("A result is too long to be sent.") }
        try await write(line)
    }

    /// Writes down, durably, what is about to be changed. Where this throws nothing may be changed.
    ///
    /// - Parameters:
    ///   - action: What is done.
    ///   - user: Whom it is about.
    ///   - target: What it is about where that is no user: an address, a session, `all`.
    @discardableResult
    func record(
        _ action: Action, user: UserName? = nil, target: String? = nil
    ) async throws(ControlError) -> OperatorRecord {
        var facts = CallFacts(call: call, peer: .control)
        facts.action = action
        facts.user = user
        let record = JournalRecord(
            .operator, facts: facts, result: OperatorRecord.Result.accepted.rawValue, operatorID: operatorID,
            target: target)
        do throws(JournalUnavailable) {
            try await journal.record([record])
        } catch {
            throw .unavailable("Nothing was changed, for it could not be recorded: \(error.detail)")
        }
        return OperatorRecord(record: record, journal: journal)
    }
}
