internal import GatewaySupport

/// The attributes by which directories disable accounts, as the server sent them.
struct AccountAttributes: Sendable, Hashable {
    /// The attributes, in the order in which packets have them.
    enum Name: String, Sendable, CaseIterable {
        /// Active Directory: a set of flags.
        case userAccountControl
        /// Active Directory: the time of expiry in units of 100 ns since 1601.
        case accountExpires
        /// 389 Directory Server and FreeIPA: TRUE for a disabled account.
        case nsAccountLock
        /// OpenLDAP's password policy: the time of a lock; 000001010000Z for a lock by an administrator.
        case pwdAccountLockedTime
        /// RFC 2307: the day of expiry since 1970.
        case shadowExpire
    }

    var values: [Name: String] = [:]

    /// The state of the account.
    enum State: Sendable, Hashable { case usable, disabled, expired }

    /// Returns the state at a time. Temporary locks after wrong passwords do not count: the server itself refuses the
    /// bind meanwhile.
    func state(at now: WallTime) -> State {
        if let flags = values[.userAccountControl].flatMap({ Int64($0) }), flags & 2 != 0 { return .disabled }
        if values[.nsAccountLock]?.lowercased() == "true" { return .disabled }
        if values[.pwdAccountLockedTime] == "000001010000Z" { return .disabled }
        if let ticks = values[.accountExpires].flatMap({ Int64($0) }), ticks > 0, ticks != .max {
            // The difference between the epochs of 1601 and 1970 in seconds.
            if now.seconds >= ticks / 10_000_000 - 11_644_473_600 { return .expired }
        }
        if let day = values[.shadowExpire].flatMap({ Int64($0) }), day >= 0, now.seconds / 86_400 >= day {
            return .expired
        }
        return .usable
    }
}
