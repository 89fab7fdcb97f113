public import GatewayCore

/// A key of the key file: what it may sign, and when.
public struct TokenKey: Sendable {
    /// What tokens name it by, as `kid`: 1–64 of `A–Z a–z 0–9 . _ -`, unique in its file.
    public let id: String
    /// The one signature that it makes and takes.
    public let algorithm: TokenAlgorithm
    /// Before this it is no key.
    public let notBefore: WallTime?
    /// From this moment on it is no key.
    public internal(set) var notAfter: WallTime?
    /// Whose tokens it may sign; nil for anybody's.
    public let subjects: [SubjectPattern]?
    /// The groups that its tokens may claim; nil for any, empty for none.
    public let groups: Set<GroupName>?
    /// Whether tokens are issued with it; otherwise it only verifies.
    public let issues: Bool

    let secret: Secret

    /// Whether it is a key at that moment. No skew: who retires a key means it.
    public func isValid(at now: WallTime) -> Bool {
        if let notBefore, now < notBefore { return false }
        if let notAfter, now >= notAfter { return false }
        return true
    }

    /// Whether it may speak for this user in these groups.
    func covers(_ user: UserName, in claimed: Set<GroupName>) -> Bool {
        if let subjects, !subjects.contains(where: { $0.matches(user) }) { return false }
        if let groups, !claimed.isSubset(of: groups) { return false }
        return true
    }

    /// Whether the text is a key's id.
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
