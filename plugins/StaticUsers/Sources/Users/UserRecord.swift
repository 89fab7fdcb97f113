public import GatewayCore
public import GatewaySupport

/// A user of the users file.
public struct UserRecord: Sendable {
    /// The name as written in the file.
    public let name: String
    /// The password's hash.
    public internal(set) var hash: PasswordHash
    /// The user's groups, to which policies and limits refer.
    public internal(set) var groups: [GroupName]
    /// Whether logins are rejected even with the correct password.
    public internal(set) var isDisabled: Bool
    /// The time from which logins are rejected even with the correct password.
    public internal(set) var expires: WallTime?

    /// The canonical name, by which the gateway knows the user.
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
