public import GatewayCore
public import GatewaySupport

/// A key of the key file, with its validity period and the tokens that it may sign.
public struct TokenKey: Sendable {
    /// The key's id, the `kid` of its tokens: 1–64 of `A–Z a–z 0–9 . _ -`, unique in the file.
    public let id: String
    /// The one algorithm that the key signs and verifies with.
    public let algorithm: TokenAlgorithm
    /// The time from which the key is valid; nil for no lower bound.
    public let notBefore: WallTime?
    /// The time from which the key is no longer valid; nil for no upper bound.
    public internal(set) var notAfter: WallTime?
    /// The users that its tokens may name; nil for any user.
    public let subjects: [SubjectPattern]?
    /// The groups that its tokens may claim; nil for any, empty for none.
    public let groups: Set<GroupName>?
    /// Whether new tokens may be signed with the key. If false, the key only verifies.
    public let issues: Bool

    let secret: Secret

    /// Whether the key is valid at the given time. No clock skew applies, so a retired key stops at its `notAfter`
    /// exactly.
    public func isValid(at now: WallTime) -> Bool {
        if let notBefore, now < notBefore { return false }
        if let notAfter, now >= notAfter { return false }
        return true
    }

    /// Whether the key may sign for this user in these groups.
    func covers(_ user: UserName, in claimed: Set<GroupName>) -> Bool {
        if let subjects, !subjects.contains(where: { $0.matches(user) }) { return false }
        if let groups, !claimed.isSubset(of: groups) { return false }
        return true
    }

    /// Whether the text is a valid key id.
    static func isID(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}
