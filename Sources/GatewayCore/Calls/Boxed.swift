/// A value behind one reference: it is handed on without a copy, and copied when one of several that refer to it is to be changed.
///
/// For what is large and goes through many hands, such as what is known of a call.
@frozen
public struct Boxed<Value: Sendable>: Sendable {
    // Unchecked: changed only where nobody else refers to it.
    @usableFromInline
    final class Storage: @unchecked Sendable {
        @usableFromInline var value: Value

        @inlinable
        init(_ value: Value) { self.value = value }
    }

    @usableFromInline var storage: Storage

    /// A value that nobody else refers to.
    @inlinable
    public init(_ value: Value) { storage = Storage(value) }

    /// The value. A part of it is read and changed in place.
    @inlinable public var value: Value {
        _read { yield storage.value }
        _modify {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
            yield &storage.value
        }
    }

    /// Whether both refer to one value.
    @inlinable
    public static func === (left: Boxed, right: Boxed) -> Bool { left.storage === right.storage }
}
