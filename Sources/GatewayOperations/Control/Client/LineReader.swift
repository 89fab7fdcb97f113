/// Splits received bytes into lines of limited length, independent of how the bytes arrive in pieces.
struct LineReader: Sendable {
    /// The result of reading.
    enum Line: Sendable, Hashable {
        /// A line, without its line feed.
        case complete([UInt8])
        /// A line beyond the maximum length. Nothing after it can be read.
        case tooLong
    }

    private let maximumLength: Int
    private var bytes: [UInt8] = []
    private var searched = 0

    init(maximumLength: Int) { self.maximumLength = maximumLength }

    /// Appends received bytes. The caller reads all lines with `next()` after each piece, so at most one line and one
    /// piece are held.
    mutating func append(_ piece: some Sequence<UInt8>) { bytes += piece }

    /// Returns the next line, or nil until more bytes arrive.
    mutating func next() -> Line? {
        guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = bytes.count
            return bytes.count > maximumLength ? .tooLong : nil
        }
        guard end <= maximumLength else { return .tooLong }
        let line = Array(bytes[..<end])
        bytes.removeSubrange(...end)
        searched = 0
        return .complete(line)
    }
}
