public import GatewayCore

/// A pattern for the user names that a key may sign for: one canonical name, or a prefix followed by `*`.
public struct SubjectPattern: Sendable, Hashable, CustomStringConvertible {
    private let start: String
    private let isOpen: Bool

    /// Parses the pattern, or returns nil if the text is not one.
    public init?(_ text: String) {
        isOpen = text.hasSuffix("*")
        start = isOpen ? String(text.dropLast()) : text
        guard UserName(canonical: start) != nil || (isOpen && start.isEmpty) else { return nil }
    }

    /// Whether the pattern matches the name.
    public func matches(_ user: UserName) -> Bool {
        isOpen ? user.text.utf8.starts(with: start.utf8) : user.text == start
    }

    /// The pattern as written in the key file.
    public var description: String { isOpen ? start + "*" : start }
}
