internal import GatewayCore
internal import NIOCore

/// Remembered verdicts, bounded: by user, so that what a user's success or end changes is found at once.
struct VerdictTable {
    enum Verdict {
        case accepted(Identity)
        case rejected(RejectionReason, by: PluginName?)

        var isAcceptance: Bool {
            switch self {
            case .accepted: true
            case .rejected: false
            }
        }
    }

    private struct Entry {
        let digest: KeyedDigest
        let verdict: Verdict
        let end: Int64
        // When it was written, as a number that no other entry has: tells it from a later one in its place.
        let number: UInt64
    }

    /// How long an acceptance holds, and how long a rejection, in nanoseconds.
    static let acceptance: Int64 = 60_000_000_000
    static let rejection: Int64 = 600_000_000_000
    /// How many of one user, so that none takes long to search. More wrong passwords than this never get past the throttle.
    private static let mostOfUser = 256

    private var entries: [String: [Entry]] = [:]
    // The order in which they were written. What is no longer in `entries` stays here until its turn.
    private var order = CircularBuffer<(user: String, number: UInt64)>()
    private var nextNumber: UInt64 = 0
    private let capacity: Int
    /// How many there are.
    private(set) var count = 0

    init(capacity: Int) { self.capacity = max(1, capacity) }

    func verdict(for key: VerdictKey, now: Int64) -> Verdict? {
        entries[key.user]?.first { $0.digest == key.digest && $0.end > now }?.verdict
    }

    /// Remembers an acceptance. One that does not merely confirm what was accepted before is news of the user: what was
    /// rejected before may be right now.
    mutating func accept(_ identity: Identity, for key: VerdictKey, now: Int64) {
        let confirms = entries[key.user]?.contains { $0.digest == key.digest && $0.verdict.isAcceptance } ?? false
        if !confirms { remove(of: key.user) { !$0.verdict.isAcceptance } }
        write(.accepted(identity), for: key, end: now + Self.acceptance)
    }

    /// Remembers a rejection.
    ///
    /// - Parameter judge: whose word it is.
    mutating func reject(_ reason: RejectionReason, by judge: PluginName? = nil, for key: VerdictKey, now: Int64) {
        write(.rejected(reason, by: judge), for: key, end: now + Self.rejection)
    }

    /// Forgets all that concerns one user.
    mutating func forget(_ user: UserName) { remove(of: user.text) { _ in true } }

    /// Forgets everything.
    mutating func forgetAll() {
        entries = [:]
        order.removeAll()
        count = 0
    }

    private mutating func write(_ verdict: Verdict, for key: VerdictKey, end: Int64) {
        remove(of: key.user) { $0.digest == key.digest }
        if let own = entries[key.user], own.count >= Self.mostOfUser {
            // The oldest rejection, so that wrong passwords do not push out the good one.
            let number = (own.first { !$0.verdict.isAcceptance } ?? own[0]).number
            remove(of: key.user) { $0.number == number }
        }
        while count >= capacity, let oldest = order.popFirst() {
            remove(of: oldest.user) { $0.number == oldest.number }
        }
        nextNumber += 1
        entries[key.user, default: []].append(
            Entry(digest: key.digest, verdict: verdict, end: end, number: nextNumber))
        order.append((key.user, nextNumber))
        count += 1
        if order.count > 2 * capacity { dropTheRemovedFromOrder() }
    }

    private mutating func remove(of user: String, where isMeant: (Entry) -> Bool) {
        guard var own = entries[user] else { return }
        let before = own.count
        own.removeAll(where: isMeant)
        count -= before - own.count
        entries[user] = own.isEmpty ? nil : own
    }

    private mutating func dropTheRemovedFromOrder() {
        let live = Set(entries.values.joined().map(\.number))
        order = CircularBuffer(order.filter { live.contains($0.number) })
    }
}
