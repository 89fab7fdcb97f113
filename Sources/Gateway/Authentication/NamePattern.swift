public import GatewayCore

/// A pattern of user names: the characters of canonical names, and `*`, which stands for any number of them.
public struct NamePattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern as written.
    public let text: String
    private let bytes: [UInt8]

    private static let star = UInt8(ascii: "*")

    /// The pattern, or nil if it holds what no canonical name can hold.
    public init?(_ text: String) {
        let letters = String(text.filter { $0 != "*" })
        guard !text.isEmpty, text.utf8.count <= 2 * UserName.longest,
            letters.isEmpty || UserName(canonical: letters) != nil
        else { return nil }
        self.text = text
        bytes = Array(text.utf8)
    }

    /// Whether the name fits. Takes time in proportion to the name's length times the pattern's, and no more.
    public func matches(_ user: UserName) -> Bool { Self.overlap(bytes, Array(user.text.utf8)) }

    /// Whether some name fits both.
    public func overlaps(_ other: NamePattern) -> Bool { Self.overlap(bytes, other.bytes) }

    // Row by row: `row[j]` says whether what is left of `left` and `right[j...]` have a text in common.
    private static func overlap(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        var below = [Bool](repeating: false, count: right.count + 1)
        for i in stride(from: left.count, through: 0, by: -1) {
            var row = [Bool](repeating: false, count: right.count + 1)
            for j in stride(from: right.count, through: 0, by: -1) {
                let (a, b) = (i < left.count ? left[i] : nil, j < right.count ? right[j] : nil)
                row[j] =
                    switch (a, b) {
                    case (nil, nil): true
                    // A star takes nothing, or the next of the other side.
                    case (star?, _): below[j] || (b != nil && row[j + 1])
                    case (_, star?): row[j + 1] || (a != nil && below[j])
                    case (let a?, let b?): a == b && below[j + 1]
                    case (nil, _?), (_?, nil): false
                    }
            }
            below = row
        }
        return below[0]
    }

    /// The pattern.
    public var description: String { text }
}
