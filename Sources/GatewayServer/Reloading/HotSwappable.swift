internal import Synchronization

/// A value that a reload replaces, for those who ask for it off the way of a call.
final class HotSwappable<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>

    init(_ value: Value) { stored = Mutex(value) }

    /// As it is now; whoever goes on working with it does so by what it was.
    var value: Value {
        get { stored.withLock(\.self) }
        set { stored.withLock { $0 = newValue } }
    }
}
