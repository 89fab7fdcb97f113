public import GatewayCore
internal import GatewaySupport

extension Policy {
    /// Returns the tags to register in addition to the user's `username:` tag, sorted and without duplicates. Records
    /// in the facts which tags no rule allows and how they were treated.
    ///
    /// The namespaces `username:` and `from:` belong to the backend; a client that could register them would receive
    /// messages for others. The caller's own `username:` tag is accepted and ignored, because the backend adds it to
    /// every registration.
    func registeredTags(
        _ requested: [String], by caller: Identity, _ facts: inout CallFacts
    ) throws(Rejection) -> [Tag] {
        // A hub keeps 60 tags, one of which is the `username:` tag.
        guard requested.count <= 59 else { throw Rejection(.tagNotAllowed, "more than 59 tags") }
        var allowed: Set<Tag> = []
        var others: Set<Tag> = []
        let own = Tag(of: caller.user)
        for text in requested {
            guard let tag = Tag(text) else { throw Rejection(.tagNotAllowed, "a malformed tag") }
            if tag == own { continue }
            guard !tag.isReserved else { throw Rejection(.tagNotAllowed, "a reserved tag") }
            if self.tags.contains(where: { $0.user.covers(caller) && $0.allow.contains { $0.matches(tag) } }) {
                allowed.insert(tag)
            } else {
                others.insert(tag)
            }
        }
        return try registersNevertheless(others, &facts) ? Self.sorted(allowed.union(others)) : Self.sorted(allowed)
    }

    /// Returns whether tags that no rule allows are registered nevertheless.
    private func registersNevertheless(_ others: Set<Tag>, _ facts: inout CallFacts) throws(Rejection) -> Bool {
        guard !others.isEmpty else { return false }
        facts.tags = Self.sorted(others)
        switch (isEnforced, tagsNotAllowed) {
        case (false, _):
            facts.rule = Self.wouldReject
            return true
        case (true, .drop):
            facts.rule = "tags-dropped"
            return false
        case (true, .refuse):
            throw Rejection(.tagNotAllowed, "no rule allows \(others.count == 1 ? "a tag" : "\(others.count) tags")")
        }
    }

    /// The value in place of a rule in the journal, for a call that is carried out only because the policy is not
    /// enforced.
    static let wouldReject = "would-refuse"

    private static func sorted(_ tags: Set<Tag>) -> [Tag] { tags.sorted { $0.key < $1.key } }
}

extension Tag {
    /// Whether the tag is in a namespace of the backend, which no client may register.
    var isReserved: Bool { namespace == "username" || namespace == "from" }
}

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
