public import GatewayCore
internal import GatewaySupport

/// The class of a send's result, as statistics count it.
public enum SendClass: String, Sendable, Hashable, CaseIterable {
    /// The backend carried out the send.
    case accepted
    /// The send was forwarded or about to be, and failed, or its result is not known.
    case failed
    /// The gateway rejected the send.
    case refused

    /// Creates the class of a forwarded send.
    public init(_ result: CallResult) {
        switch result {
        case .accepted, .adopted, .healed, .ledgerFailed: self = .accepted
        case .notIssued, .revoked, .neutralised, .deleteUnconfirmed, .ledgerUnavailable, .textsUnavailable,
            .backendFailed, .backendUnreachable, .backendTimedOut, .overloaded, .unknownAtStop, .unknownAfterCrash:
            self = .failed
        }
    }
}

/// The numbers of sends by the class of their result.
public struct SendCounts: Sendable, Hashable {
    /// The sends that the backend carried out.
    public var accepted = 0
    /// The sends that failed, or whose result is not known.
    public var failed = 0
    /// The sends that the gateway rejected.
    public var refused = 0

    /// Creates counts of zero.
    public init() {}

    /// The number of sends of all classes.
    public var total: Int { accepted.addingSaturating(failed).addingSaturating(refused) }

    /// The number of sends of one class.
    public subscript(_ word: SendClass) -> Int {
        get {
            switch word {
            case .accepted: accepted
            case .failed: failed
            case .refused: refused
            }
        }
        set {
            switch word {
            case .accepted: accepted = newValue
            case .failed: failed = newValue
            case .refused: refused = newValue
            }
        }
    }

    /// Adds other counts. Saturates, because rows of a store may state any number.
    public static func += (left: inout SendCounts, right: SendCounts) {
        for word in SendClass.allCases { left[word] = left[word].addingSaturating(right[word]) }
    }

    /// Subtracts other counts. Saturates too.
    public static func -= (left: inout SendCounts, right: SendCounts) {
        for word in SendClass.allCases { left[word] = left[word].subtractingSaturating(right[word]) }
    }
}

/// The effect of a journal line on the statistics.
///
/// A send counts once, with its outcome. A rejection counts with its `count`. Intents, replays and all other lines do
/// not count.
enum CountedLine: Sendable, Hashable {
    case ignored
    case send(SendClass, count: Int, latency: Int?)
    /// A rejected call that is not a send, or of which only the number is recorded.
    case otherRefusal(count: Int)

    /// Creates the effect of lines with these members.
    ///
    /// - Parameter latency: The number of the bucket of ``LatencyBuckets``.
    init(kind: String?, action: String?, result: String?, count: Int64, latency: Int?) {
        let isSend = action == Action.send.rawValue
        switch kind.flatMap(JournalRecord.Kind.init(rawValue:)) {
        case .outcome? where isSend:
            let word = result.flatMap(CallResult.init(rawValue:)).map(SendClass.init) ?? .failed
            self = .send(word, count: Int(count), latency: latency)
        case .rejection? where isSend:
            self = .send(.refused, count: Int(count), latency: nil)
        case .rejection? where result != Self.banEnded:
            self = .otherRefusal(count: Int(count))
        case .intent, .outcome, .rejection, .replay, .operator, .start, .stop, .recovered, .checkpoint, .retired,
            .nodeHead, nil:
            self = .ignored
        }
    }

    /// The result in the record of the end of a login ban, which is no rejected call.
    static let banEnded = "ban-ended"
}
