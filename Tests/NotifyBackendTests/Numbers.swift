import Synchronization

/// A source of numbers that were written down beforehand, the last of them for ever.
final class Numbers: Sendable {
    private let rest: Mutex<[UInt64]>

    init(_ numbers: [UInt64]) {
        rest = Mutex(numbers)
    }

    func next() -> UInt64 {
        rest.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? 0 }
    }
}
