internal import Synchronization

/// A copy-on-write box: passing it on copies one reference; a mutation copies the value only if the storage is shared.
///
/// For large values that are passed through many functions, such as `CallFacts`.
@frozen
public struct CopyOnWriteBox<Value: Sendable>: Sendable {
    // Unchecked: `value` is mutated only while the storage is uniquely referenced.
    @usableFromInline
    final class Storage: @unchecked Sendable {
        @usableFromInline var value: Value

        @inlinable
        init(_ value: Value) { self.value = value }
    }

    @usableFromInline var storage: Storage

    /// Creates a box with storage of its own.
    @inlinable
    public init(_ value: Value) { storage = Storage(value) }

    /// The boxed value. Reads and mutations work in place.
    @inlinable public var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }

    /// Returns whether both boxes share the same storage.
    @inlinable
    public static func === (left: CopyOnWriteBox, right: CopyOnWriteBox) -> Bool { left.storage === right.storage }
}

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
