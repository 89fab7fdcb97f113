public import GatewayCore

/// Names that a key may speak for: one canonical name, or all that begin alike, written with a `*` at the end.
public struct SubjectPattern: Sendable, Hashable, CustomStringConvertible {
    private let start: String
    private let isOpen: Bool

    /// The pattern, or nil where the text is none.
    public init?(_ text: String) {
        isOpen = text.hasSuffix("*")
        start = isOpen ? String(text.dropLast()) : text
        guard UserName(canonical: start) != nil || (isOpen && start.isEmpty) else { return nil }
    }

    /// Whether the name is one of those.
    public func matches(_ user: UserName) -> Bool {
        isOpen ? user.text.utf8.starts(with: start.utf8) : user.text == start
    }

    /// As it is written.
    public var description: String { isOpen ? start + "*" : start }
}
