/// Doubly linked lists of the indices of a table. An index is in one list at most, and goes in and out in constant time.
///
/// The links lie in an array of their own, so that an element of the table needs no object and no reference count.
struct IndexLists {
    /// The ends of one list.
    struct List {
        fileprivate(set) var first = IndexLists.none
        fileprivate(set) var last = IndexLists.none

        var isEmpty: Bool { first == IndexLists.none }
    }

    private struct Links {
        var previous = IndexLists.none
        var next = IndexLists.none
    }

    /// The index of no element.
    static let none: Int32 = -1

    private var links: [Links] = []

    /// The index behind another one of its list; `none` at the end.
    func next(after index: Int32) -> Int32 { links[Int(index)].next }

    /// Puts an index, which is in no list, at the end of one.
    mutating func append(_ index: Int32, to list: inout List) {
        while links.count <= Int(index) { links.append(Links()) }
        links[Int(index)] = Links(previous: list.last)
        if list.isEmpty { list.first = index } else { links[Int(list.last)].next = index }
        list.last = index
    }

    /// Takes an index out of the list that it is in.
    mutating func remove(_ index: Int32, from list: inout List) {
        let (previous, next) = (links[Int(index)].previous, links[Int(index)].next)
        if previous == Self.none { list.first = next } else { links[Int(previous)].next = next }
        if next == Self.none { list.last = previous } else { links[Int(next)].previous = previous }
    }
}
