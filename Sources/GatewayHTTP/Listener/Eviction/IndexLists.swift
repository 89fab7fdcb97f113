/// Doubly linked lists of table indices. Each index is in at most one list. Insertion and removal take constant time.
///
/// The links are stored in a separate array, so that table elements need neither objects nor reference counts.
struct IndexLists {
    /// The first and last index of one list.
    struct List {
        fileprivate(set) var first = IndexLists.none
        fileprivate(set) var last = IndexLists.none

        var isEmpty: Bool { first == IndexLists.none }
    }

    private struct Links {
        var previous = IndexLists.none
        var next = IndexLists.none
    }

    /// The value that stands for no index.
    static let none: Int32 = -1

    private var links: [Links] = []

    /// Returns the next index in the list; `none` at its end.
    func next(after index: Int32) -> Int32 { links[Int(index)].next }

    /// Appends an index to a list. The index must not be in any list.
    mutating func append(_ index: Int32, to list: inout List) {
        while links.count <= Int(index) { links.append(Links()) }
        links[Int(index)] = Links(previous: list.last)
        if list.isEmpty { list.first = index } else { links[Int(list.last)].next = index }
        list.last = index
    }

    /// Removes an index from its list.
    mutating func remove(_ index: Int32, from list: inout List) {
        let (previous, next) = (links[Int(index)].previous, links[Int(index)].next)
        if previous == Self.none { list.first = next } else { links[Int(previous)].next = next }
        if next == Self.none { list.last = previous } else { links[Int(next)].previous = previous }
    }
}
