internal import Synchronization

/// A value that a reload replaces, for readers outside the request pipeline. Safe to use from any thread.
package final class HotSwappable<Value: Sendable>: Sendable {
    private let stored: Mutex<Value>

    /// Creates a container of the first value.
    package init(_ value: Value) { stored = Mutex(value) }

    /// The current value. A reader that keeps a copy continues with the value that it read.
    package var value: Value {
        get { stored.withLock(\.self) }
        set { stored.withLock { $0 = newValue } }
    }
}
