public import GatewayCore
internal import GatewaySupport

/// A pattern of tags: the characters of tags, and `*` for any number of characters. Compared without case.
public struct TagPattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern in lower case.
    public let text: String
    private let pieces: [[UInt8]]

    /// Creates a pattern; returns nil if it contains a character that no tag has.
    public init?(_ text: String) {
        guard !text.isEmpty, Tag(text.split(separator: "*").joined()) != nil || text.allSatisfy({ $0 == "*" }) else {
            return nil
        }
        self.text = text.asciiLowercased
        self.pieces = self.text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(
            Array.init)
    }

    /// Returns whether the tag matches. The time is at most proportional to the product of the two lengths.
    public func matches(_ tag: Tag) -> Bool { matches(Array(tag.key.utf8)) }

    func matches(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        // `split` returns at least one piece, and more only if there is a star.
        guard let first = pieces.first, let last = pieces.last, rest.starts(with: first) else { return false }
        if pieces.count == 1 { return rest.count == first.count }
        rest = rest.dropFirst(first.count)
        guard rest.count >= last.count, rest.suffix(last.count).elementsEqual(last) else { return false }
        rest = rest.dropLast(last.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let found = rest.indices.first(where: { rest[$0...].starts(with: piece) }) else { return false }
            rest = rest[(found + piece.count)...]
        }
        return true
    }

    /// The pattern in lower case.
    public var description: String { text }
}
