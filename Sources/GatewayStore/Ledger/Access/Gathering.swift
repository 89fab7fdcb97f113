internal import Synchronization

/// What gathers while work is under way, to be done together when that has ended.
final class Gathering<Work: Sendable>: Sendable {
    /// What has gathered; nil where nothing is under way.
    private let gathered = Mutex<[Work]?>(nil)

    /// How much has gathered.
    var count: Int { gathered.withLock { $0?.count ?? 0 } }

    /// Takes the work in.
    ///
    /// - Returns: whether nothing is under way. Then the caller has it to do, and asks for what is `next()` afterwards.
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

    /// Everything that has gathered, for the caller to do; nil where there is nothing, and so nothing under way any longer.
    func next() -> [Work]? {
        gathered.withLock { gathered in
            let next = gathered ?? []
            gathered = next.isEmpty ? nil : []
            return next.isEmpty ? nil : next
        }
    }
}
