internal import Synchronization

/// Collects work that arrives while earlier work runs, so that it can be processed as one batch.
final class BatchCollector<Work: Sendable>: Sendable {
    /// The collected work; nil while no work runs.
    private let collected = Mutex<[Work]?>(nil)

    /// The number of collected items. For tests.
    var count: Int { collected.withLock { $0?.count ?? 0 } }

    /// Adds an item.
    ///
    /// - Returns: Whether no work runs. The caller then processes the item itself, and calls `next()` until it returns
    ///   nil.
    func add(_ work: Work) -> Bool {
        collected.withLock { collected in
            if collected == nil {
                collected = []
                return true
            }
            collected?.append(work)
            return false
        }
    }

    /// Returns the collected work for the caller to process; nil if there is none, which also marks the work as
    /// finished.
    func next() -> [Work]? {
        collected.withLock { collected in
            let next = collected ?? []
            collected = next.isEmpty ? nil : []
            return next.isEmpty ? nil : next
        }
    }
}
