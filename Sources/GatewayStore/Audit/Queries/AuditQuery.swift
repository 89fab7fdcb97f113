public import GatewayCore

/// Which lines of the journal are asked for: those that fit all that is given.
public struct AuditQuery: Sendable, Hashable {
    /// Who sent; sends only.
    public var from: UserName?
    /// Whom a send is for, or from whom a device was handed over.
    public var to: UserName?
    /// Who called, or whom an operator's change is about.
    public var user: UserName?
    /// What the call does.
    public var action: Action?
    /// How it ended: a word of the journal's, or one of the two words for what a trial would have refused.
    public var result: String?
    /// The rule of the policy that decided.
    public var rule: String?
    /// The peer's address, as it is recorded.
    public var peer: String?
    /// The limit that refused the call, or would have.
    public var limit: String?
    /// Not before this time.
    public var since: WallTime?
    /// Before this time.
    public var until: WallTime?
    /// The call's id.
    public var call: String?
    /// Whether checkpoints are left out.
    public var hidesCheckpoints = false

    /// The result word for calls that a policy in trial would have refused; in the journal a `rule`.
    public static let wouldRefuse = "would-refuse"
    /// The result word for calls that a limit in trial would have refused; in the journal the member `would-limit`.
    public static let wouldLimit = "would-limit"

    /// All lines.
    public init() {}
}

/// Who notified a user within a time, and how often.
public struct SenderSummary: Sendable, Hashable {
    /// Who.
    public let sender: UserName
    /// How many sends were handed to the backend; those that it certainly never saw are not among them.
    public let count: Int
    /// The time of the first of them; nil where there is none.
    public let first: WallTime?
    /// The time of the last.
    public let last: WallTime?
    /// The services that they went through, in alphabetical order.
    public let platforms: [String]
    /// How many were refused.
    public let refused: Int
}
