internal import Synchronization

/// Collects work that arrives while earlier work runs, so that it can be processed as one batch.
final class Gathering<Work: Sendable>: Sendable {
    /// The collected work; nil while no work runs.
    private let gathered = Mutex<[Work]?>(nil)

    /// The number of collected items.
    var count: Int { gathered.withLock { $0?.count ?? 0 } }

    /// Adds an item.
    ///
    /// - Returns: Whether no work runs. The caller then processes the item itself, and calls `next()` until it returns
    ///   nil.
    func add(_ work: Work) -> Bool {
        gathered.withLock { gathered in
            if gathered == nil {
                gathered = []
                return true
            }
            gathered?.append(work)
            return false
        }
    }

    /// Returns the collected work for the caller to process; nil where there is none, which also marks the work as
    /// finished.
    func next() -> [Work]? {
        gathered.withLock { gathered in
            let next = gathered ?? []
            gathered = next.isEmpty ? nil : []
            return next.isEmpty ? nil : next
        }
    }
}
