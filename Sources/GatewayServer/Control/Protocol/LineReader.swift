/// Cuts bytes into lines of a bounded length. How the bytes are split on their way changes nothing.
struct LineReader: Sendable {
    /// What the bytes so far hold.
    enum Line: Sendable, Hashable {
        /// A line, without its line feed.
        case complete([UInt8])
        /// One that is longer than any may be. Nothing after it can be read.
        case tooLong
    }

    private let longest: Int
    private var bytes: [UInt8] = []
    private var searched = 0

    init(longest: Int) { self.longest = longest }

    /// Takes bytes as they come. `next()` is asked after each piece, so that no more than a line and a piece is ever held.
    mutating func append(_ piece: some Sequence<UInt8>) { bytes += piece }

    /// The next line, or nil until more bytes have come.
    mutating func next() -> Line? {
        guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = bytes.count
            return bytes.count > longest ? .tooLong : nil
        }
        guard end <= longest else { return .tooLong }
        let line = Array(bytes[..<end])
        bytes.removeSubrange(...end)
        searched = 0
        return .complete(line)
    }
}
