/// A header field as ranges in the bytes that it was parsed from.
struct FieldLine: Equatable {
    /// The name, one or more `tchar` bytes.
    var name: Range<Int>
    /// The value without leading and trailing white space.
    var value: Range<Int>
    /// Whether the value contains `obs-text`: bytes from 0x80, whose encoding is undefined (RFC 9110, section 5.5).
    var hasObsoleteText: Bool
}
