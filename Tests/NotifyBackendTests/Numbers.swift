import Synchronization

/// A source of predefined numbers. It repeats the last one forever.
final class Numbers: Sendable {
    private let rest: Mutex<[UInt64]>

    init(_ numbers: [UInt64]) {
        rest = Mutex(numbers)
    }

    func next() -> UInt64 {
        rest.withLock { $0.count > 1 ? $0.removeFirst() : $0.first ?? 0 }
    }
}
