internal import CPAM
internal import Foundation

/// The entry of a local account in the system's shadow file (shadow(5)).
///
/// Debian's `common-account` turns every result of pam_unix except success into `PAM_AUTH_ERR`, and pam_unix does not
/// look at a locked password in `account`. Without the right to read the file, nothing is known.
struct ShadowEntry: Equatable {
    /// Whether the account has expired, or its password so long ago that the account is disabled.
    private(set) var isExpired = false
    /// Whether the account has a password that `passwd --lock` or `usermod --lock` made unusable.
    private(set) var isLocked = false

    /// Looks the account up. Blocks as long as the sources of `shadow` in nsswitch.conf do.
    init(of user: String) {
        var room = 1024
        while room <= 1 << 20 {
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: room)
            defer {
                explicit_bzero(buffer, room)
                buffer.deallocate()
            }
            var record = spwd()
            var result: UnsafeMutablePointer<spwd>?
            let status = getspnam_r(user, &record, buffer, room, &result)
            if status == ERANGE {
                room *= 4
            } else if status != EINTR {
                if result != nil { self.init(record, day: Int(time(nil) / 86_400)) } else { self.init() }
                return
            }
        }
        self.init()
    }

    private init() {}

    private init(_ record: spwd, day: Int) {
        isLocked = record.sp_pwdp.map { Self.isLocked($0) } ?? false
        isExpired = Self.isExpired(
            expires: record.sp_expire, lastChange: record.sp_lstchg, maximumAge: record.sp_max,
            inactivity: record.sp_inact, day: day)
    }

    /// Whether the field of a password has a locked one. `!` alone or before a `*` is an account that never had a
    /// password, and that may log in by other means.
    static func isLocked(_ password: UnsafePointer<CChar>) -> Bool {
        let locks = strspn(password, "!")
        return locks > 0 && password[locks] != 0 && password[locks] != CChar(UInt8(ascii: "*"))
    }

    /// Applies the rules of pam_unix. A number of -1 is an empty field.
    ///
    /// - Parameter day: today, in days since 1970 as all numbers.
    static func isExpired(expires: Int, lastChange: Int, maximumAge: Int, inactivity: Int, day: Int) -> Bool {
        if expires != -1, day >= expires { return true }
        guard lastChange > 0, lastChange <= day, maximumAge != -1, inactivity != -1 else { return false }
        let (limit, overflow) = maximumAge.addingReportingOverflow(inactivity)
        let age = day - lastChange
        return !overflow && age > maximumAge && age > inactivity && age > limit
    }
}
