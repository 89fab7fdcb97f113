internal import Synchronization

/// The position of the durable end of a journal, and the first line that each of its followers still needs.
///
/// The writer's thread sets the end and reads what the followers need. Any thread may use all functions; none blocks
/// longer than for a few instructions.
public final class JournalFollowers: Sendable {
    private let end = Atomic<UInt64>(0)
    private let required = Mutex<[String: UInt64]>([:])

    /// The name under which the archive of segments declares its needs. No sink can have it, because of the space.
    package static let archive = "segment archive"

    /// Creates the state of a journal that is not open yet.
    public init() {}

    /// The number after the last line that is on disk; 0 until the journal is open.
    public var durableEnd: UInt64 { end.load(ordering: .acquiring) }

    /// Declares that all lines before the number are on disk. Called by the journal.
    package func advance(to number: UInt64) { end.store(number, ordering: .releasing) }

    /// Declares that the follower needs the line with this number and all later ones. Retention by age then keeps them;
    /// the maximum size of the journal applies nevertheless.
    public func require(from number: UInt64, by follower: String) {
        required.withLock { $0[follower] = number }
    }

    /// Declares that the follower needs no lines any more.
    public func release(_ follower: String) {
        required.withLock { $0[follower] = nil }
    }

    /// The number of the first line that a follower still needs; nil without followers.
    var firstRequired: UInt64? { required.withLock { $0.values.min() } }

    /// The followers that still need a line with this number or an earlier one.
    func names(requiring number: UInt64) -> [String] {
        required.withLock { $0.filter { $0.value <= number }.keys.sorted() }
    }
}
