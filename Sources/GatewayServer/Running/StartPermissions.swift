/// The permissions that an operator gives for one start.
public struct StartPermissions: OptionSet, Sendable {
    /// The bits of the permissions.
    public let rawValue: Int

    /// Creates permissions from their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The gateway starts although `identity` differs from the rules that produced the names in the ledger.
    public static let identityChange = StartPermissions(rawValue: 1)
    /// Sessions stay valid although the ledger was restored from a backup.
    public static let restoredSessions = StartPermissions(rawValue: 2)
    /// The store in PostgreSQL was restored from a copy, although nothing shows it.
    public static let restoredStore = StartPermissions(rawValue: 4)
}
