/// One header field as places in the bytes that it was read from.
struct FieldLine: Equatable {
    /// The name: one or more token bytes.
    var name: Range<Int>
    /// The value without white space around it.
    var value: Range<Int>
    /// Whether the value holds bytes beyond ASCII, whose meaning nobody agrees on.
    var hasObsoleteText: Bool
}
