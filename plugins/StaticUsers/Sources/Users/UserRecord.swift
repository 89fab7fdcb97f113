public import GatewayCore

/// A user as the users file has it.
public struct UserRecord: Sendable {
    /// The name as written; it becomes canonical when the gateway reads it.
    public let name: String
    /// The password's hash.
    public internal(set) var hash: PasswordHash
    /// The groups that policy and limits may speak of.
    public internal(set) var groups: [GroupName]
    /// Whether even the right password is refused.
    public internal(set) var isDisabled: Bool
    /// From when on even the right password is refused.
    public internal(set) var expires: WallTime?

    /// The name that the gateway knows the user by.
    public let canonicalName: UserName
    let hashLocation: SourceLocation

    init(
        name: String, canonicalName: UserName, hash: PasswordHash, hashLocation: SourceLocation,
        groups: [GroupName] = [], isDisabled: Bool = false, expires: WallTime? = nil
    ) {
        self.name = name
        self.canonicalName = canonicalName
        self.hash = hash
        self.hashLocation = hashLocation
        self.groups = groups
        self.isDisabled = isDisabled
        self.expires = expires
    }
}
