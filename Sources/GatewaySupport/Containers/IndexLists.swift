/// Doubly linked lists of table indices. Each index is in at most one list. Insertion and removal take constant time.
///
/// The links are stored in a separate array, so that table elements need neither objects nor reference counts.
/// Inlinable, because listeners use it for each request and generic tables of other modules are built on it.
public struct IndexLists: Sendable {
    /// The first and last index of one list.
    public struct List: Sendable {
        @usableFromInline var ends = Links()

        /// The first index; `none` in an empty list.
        @inlinable public var first: Int32 { ends.next }
        /// The last index; `none` in an empty list.
        @inlinable public var last: Int32 { ends.previous }
        /// Whether the list contains no index.
        @inlinable public var isEmpty: Bool { ends.next == IndexLists.none }

        /// Creates an empty list.
        @inlinable
        public init() {}
    }

    @usableFromInline
    struct Links: Sendable {
        @usableFromInline var previous = IndexLists.none
        @usableFromInline var next = IndexLists.none

        @inlinable
        init(previous: Int32 = IndexLists.none) { self.previous = previous }
    }

    /// The value that stands for no index.
    @inlinable public static var none: Int32 { -1 }

    @usableFromInline var links: [Links] = []

    /// Creates a value without lists.
    @inlinable
    public init() {}

    /// Returns the next index in the list; `none` at its end.
    @inlinable
    public func next(after index: Int32) -> Int32 { links[Int(index)].next }

    /// Appends an index to a list. The index must not be in any list.
    @inlinable
    public mutating func append(_ index: Int32, to list: inout List) {
        while links.count <= Int(index) { links.append(Links()) }
        links[Int(index)] = Links(previous: list.last)
        if list.isEmpty { list.ends.next = index } else { links[Int(list.last)].next = index }
        list.ends.previous = index
    }

    /// Removes an index from its list.
    @inlinable
    public mutating func remove(_ index: Int32, from list: inout List) {
        let (previous, next) = (links[Int(index)].previous, links[Int(index)].next)
        if previous == Self.none { list.ends.next = next } else { links[Int(previous)].next = next }
        if next == Self.none { list.ends.previous = previous } else { links[Int(next)].previous = previous }
    }
}
