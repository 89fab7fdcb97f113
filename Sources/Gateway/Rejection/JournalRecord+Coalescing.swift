internal import GatewayCore

extension JournalRecord: CoalescedEvent {
    mutating func merge(_ later: JournalRecord) {
        if let facts = later.facts { self.facts?.merge(facts) }
        Self.keep(&result, later.result)
        Self.keep(&reason, later.reason)
    }

    private static func keep<Value: Equatable>(_ value: inout Value?, _ other: Value?) {
        if value != other { value = nil }
    }
}

extension CallFacts {
    /// Keeps only the facts that both calls have in common, and the id and the trace of the later one.
    fileprivate mutating func merge(_ later: CallFacts) { establish { $0.merge(later) } }
}

extension CallFacts.Fields {
    fileprivate mutating func merge(_ later: CallFacts) {
        func keep<Value: Equatable>(_ value: inout Value?, _ other: Value?) { if value != other { value = nil } }
        call = later.call
        trace = later.trace
        // One host usually has a whole /64.
        if peer.limitKey != later.peer.limitKey {
            peer = .several
        } else if peer.text != Peer.several.text {
            peer = later.peer
        }
        keep(&action, later.action)
        keep(&user, later.user)
        keep(&attempted, later.attempted)
        keep(&authenticator, later.authenticator)
        keep(&recipient, later.recipient)
        keep(&audience, later.audience)
        keep(&pns, later.pns)
        keep(&platform, later.platform)
        keep(&registration, later.registration)
        keep(&session, later.session)
        if tags != later.tags { tags = [] }
        keep(&rule, later.rule)
        keep(&fence, later.fence)
        keep(&scheduled, later.scheduled)
        isSecure = isSecure && later.isSecure
        keep(&secureID, later.secureID)
        keep(&limit, later.limit)
        wouldLimit = wouldLimit.filter(later.wouldLimit.contains)
        keep(&bytes, later.bytes)
        keep(&digest, later.digest)
        keep(&idempotencyKey, later.idempotencyKey)
    }
}

extension Peer {
    /// The peer of a record that stands for calls from several addresses.
    fileprivate static let several = Peer(address: .local, text: "several")
}

extension Coalescer.Entry where Event == JournalRecord {
    /// The record of the entry. That of the summary has the result `several`.
    var record: JournalRecord {
        switch self {
        case .kind(_, var record, let count):
            record.count = count > 1 ? count : nil
            return record
        case .rest(let count):
            return JournalRecord(.rejection, result: CoalescedRejections.rest, count: count)
        }
    }
}
