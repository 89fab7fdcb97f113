public import GatewayCore
internal import Synchronization

/// The means by which limits and login throttles of one node share their state with other nodes: the key of the digests, and the
/// changes that the others have yet to learn.
public final class DebtSharing: Sendable {
    /// The length of the key in bytes.
    public static let keyLength = 16
    /// The maximum number of waiting changes.
    static let capacity = 8192

    let digests: LimitDigests
    private let changes = Mutex<[DebtChange]>([])

    /// Creates a value without waiting changes.
    ///
    /// - Parameter key: The key that all nodes have, of `keyLength` bytes.
    public init(key: [UInt8]) { digests = LimitDigests(key: key) }

    /// Returns the waiting changes, the oldest first, and forgets them.
    public func takeChanges() -> [DebtChange] {
        changes.withLock { changes in
            defer { changes = [] }
            return changes
        }
    }

    /// Puts changes back in front of those that wait now, after they could not be shared.
    public func restore(_ taken: [DebtChange]) {
        changes.withLock { changes in
            let later = changes
            changes = []
            for change in taken + later { Self.append(change, to: &changes) }
        }
    }

    /// Adds a change. Cheap, so that a login may do it.
    func announce(_ kind: DebtChange.Kind, _ pattern: DebtPattern) {
        changes.withLock { Self.append(DebtChange(kind, pattern), to: &$0) }
    }

    /// Appends a change. If there is no room, a login is dropped. Anything else replaces all by the removal of all known
    /// addresses and all debts, because a removal must not be lost.
    private static func append(_ change: DebtChange, to changes: inout [DebtChange]) {
        if changes.count < capacity {
            changes.append(change)
        } else if change.kind != .knownLogin {
            changes = removalOfEverything
        }
    }

    /// The changes that remove all that nodes share.
    public static let removalOfEverything = [
        DebtChange(.debtsRemoved, DebtPattern()), DebtChange(.knownLoginsRemoved, DebtPattern()),
    ]
}
