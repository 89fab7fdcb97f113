public import GatewayCore
public import GatewaySupport

/// A query for lines of the journal. A line must match every condition that is set.
public struct AuditQuery: Sendable, Hashable {
    /// The sender. Matches sends only.
    public var from: UserName?
    /// The recipient of a send, or the former owner of a transferred device.
    public var to: UserName?
    /// The caller, or the subject of an operator's change.
    public var user: UserName?
    /// The action of the call.
    public var action: Action?
    /// The result: one of ``resultWords``.
    public var result: String?
    /// The policy rule that decided.
    public var rule: String?
    /// The peer's address as recorded.
    public var peer: String?
    /// The limit that rejected the call, or would have as a shadow limit.
    public var limit: String?
    /// The earliest time, inclusive.
    public var since: WallTime?
    /// The latest time, exclusive.
    public var until: WallTime?
    /// The call's id.
    public var call: String?
    /// The kind of the record.
    public var kind: JournalRecord.Kind?
    /// The push service of a send.
    public var service: PushService?
    /// The number before which lines match, exclusive; nil for all lines. A page of a list ends before the page that was
    /// returned earlier.
    public var before: UInt64?
    /// ``AuditPage/top`` of the first page; nil for the first page.
    public var top: UInt64?
    /// Whether records about the hash chains are left out: checkpoints, and the ends of other gateways' journals.
    public var hidesChainRecords = false
    /// The kinds of these records.
    static let chainKinds = [JournalRecord.Kind.checkpoint, .nodeHead]

    /// The result word for calls that a shadow policy would have rejected. The journal stores it in `rule`.
    public static let wouldReject = "would-refuse"
    /// The result word for calls that a shadow limit would have rejected. The journal stores the limits in
    /// `would-limit`.
    public static let wouldLimit = "would-limit"

    /// Creates a query that matches every line.
    public init() {}
}

/// A page of a list of the journal, the newest rows first.
public struct AuditPage: Sendable, Hashable {
    /// The lines of each row: all lines of a call, or one line.
    public let rows: [[[UInt8]]]
    /// ``AuditQuery/before`` of the next page; nil if no more lines match.
    public let next: UInt64?
    /// The number after the newest line that matched when the first page was read. Calls whose lines after it are the only
    /// matching ones beyond a page were in progress then, and are on a later page.
    public let top: UInt64?
}

/// The sends of one sender to a user within a period.
public struct SenderSummary: Sendable, Hashable {
    /// The sender.
    public let sender: UserName
    /// The number of sends, without those that never reached the backend.
    public let count: Int
    /// The time of the first send; nil if all calls were rejected.
    public let first: WallTime?
    /// The time of the last send; nil if all calls were rejected.
    public let last: WallTime?
    /// The push services of the sends, in alphabetical order.
    public let platforms: [String]
    /// The number of rejected calls.
    public let refused: Int
}

extension AuditQuery {
    /// The words accepted for `result`: the results of all record kinds, and the two words for shadow rejections.
    public static let resultWords: [String] = {
        let words =
            CallResult.allCases.map(\.rawValue) + RejectionCode.allCases.map(\.rawValue)
            + AccountEndReason.allCases.map(\.rawValue) + JournalEntry.Recovery.allCases.map(\.rawValue)
            + [wouldReject, wouldLimit] + otherWords
        return Set(words).sorted()
    }()

    /// Results of records that other code writes: a failed operator change, several coalesced rejections, failed
    /// and undecided logins, and the start and end of a ban.
    private static let otherWords = ["failed", "several", "login-failed", "login-undecided", "banned", "ban-ended"]
}
