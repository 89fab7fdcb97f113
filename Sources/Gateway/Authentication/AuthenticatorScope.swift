public import GatewayCore

/// The users and groups that an authenticator may accept. Set by the operator; the authenticator does not know them.
public struct AuthenticatorScope: Sendable, Hashable {
    /// The allowed user names; nil for all.
    public var users: [NamePattern]?
    /// The allowed groups; nil for all.
    public var groups: Set<GroupName>?

    /// Creates a scope; without arguments everything is allowed.
    public init(users: [NamePattern]? = nil, groups: Set<GroupName>? = nil) {
        self.users = users
        self.groups = groups
    }

    /// Returns whether the name is allowed. A name without canonical form (nil) is allowed only if all names are.
    public func contains(_ user: UserName?) -> Bool {
        guard let users else { return true }
        guard let user else { return false }
        return users.contains { $0.matches(user) }
    }

    /// Returns whether the user and all groups of the identity are allowed.
    public func contains(_ identity: Identity) -> Bool {
        contains(identity.user) && groups.map { identity.groups.isSubset(of: $0) } ?? true
    }

    /// Returns whether some name is allowed by both.
    public func overlaps(_ other: AuthenticatorScope) -> Bool {
        // A name has at least one character, so only an empty list overlaps nothing.
        guard let users else { return other.users?.isEmpty != true }
        guard let others = other.users else { return !users.isEmpty }
        return users.contains { user in others.contains { user.overlaps($0) } }
    }
}

/// A pattern of user names: a name in any spelling, or parts of names with `*` between them for any number of characters.
///
/// Patterns are compared with names without escapes: `svc_*` matches the account `svc_mail` and not `svc|mail`, whose
/// canonical name begins with the same characters.
public struct NamePattern: Sendable, Hashable, CustomStringConvertible {
    /// The pattern as written.
    public let text: String
    private let names: NameRules
    /// The unescaped bytes, and the stars.
    private let elements: [Element]

    private enum Element: Hashable {
        case byte(UInt8)
        case star
    }

    /// Creates a pattern; returns nil if it contains a character that no name of these rules has.
    public init?(_ text: String, names: NameRules) {
        guard !text.isEmpty, text.utf8.count <= 2 * UserName.maximumLength else { return nil }
        self.text = text
        self.names = names
        let parts = text.split(separator: "*", omittingEmptySubsequences: false)
        if parts.count == 1 {
            guard let user = names.user(PresentedName(text)) else { return nil }
            elements = names.unescaped(user).map(Element.byte)
        } else {
            var elements: [Element] = []
            for (index, part) in parts.enumerated() {
                guard let bytes = names.unescaped(part: String(part)) else { return nil }
                if index > 0 { elements.append(.star) }
                elements += bytes.map(Element.byte)
            }
            self.elements = elements
        }
    }

    /// Returns whether the name matches. The time is at most proportional to the product of the two lengths.
    public func matches(_ user: UserName) -> Bool { Self.overlap(elements, names.unescaped(user).map(Element.byte)) }

    /// Returns whether some name matches both patterns.
    public func overlaps(_ other: NamePattern) -> Bool { Self.overlap(elements, other.elements) }

    // Dynamic programming by rows: `row[j]` says whether the rest of `left` and `right[j...]` match a common text.
    private static func overlap(_ left: [Element], _ right: [Element]) -> Bool {
        var below = [Bool](repeating: false, count: right.count + 1)
        for i in stride(from: left.count, through: 0, by: -1) {
            var row = [Bool](repeating: false, count: right.count + 1)
            for j in stride(from: right.count, through: 0, by: -1) {
                let (a, b) = (i < left.count ? left[i] : nil, j < right.count ? right[j] : nil)
                row[j] =
                    switch (a, b) {
                    case (nil, nil): true
                    // A star matches nothing, or consumes the next element of the other side.
                    case (.star?, _): below[j] || (b != nil && row[j + 1])
                    case (_, .star?): row[j + 1] || (a != nil && below[j])
                    case (let a?, let b?): a == b && below[j + 1]
                    case (nil, _?), (_?, nil): false
                    }
            }
            below = row
        }
        return below[0]
    }

    /// The pattern as written.
    public var description: String { text }
}
