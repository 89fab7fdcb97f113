/// A key of a ``BoundedMap``. The map can find and remove all entries of one owner.
public protocol OwnedKey: Hashable {
    /// The type of the owners.
    associatedtype Owner: Hashable
    /// The owner of the entry, such as the user whom it concerns.
    var owner: Owner { get }
}

/// The owner of all keys of a map that does not distinguish owners.
public enum SoleOwner: Hashable, Sendable {
    /// The only value.
    case everybody
}

extension OwnedKey where Owner == SoleOwner {
    /// The only owner.
    @inlinable public var owner: SoleOwner { .everybody }
}
