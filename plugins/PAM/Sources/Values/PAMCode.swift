internal import CPAM

/// A return code of libpam.
struct PAMCode: Hashable, Sendable, CustomStringConvertible {
    /// The code, `PAM_SUCCESS` to `PAM_INCOMPLETE`, or 254 for any other value.
    let number: UInt8

    init(_ status: CInt) {
        number = (0..<32).contains(status) ? UInt8(status) : 254
    }

    var description: String { "\(number)" }

    /// The classes of return codes.
    enum Meaning: Sendable, Hashable {
        case good
        case bad(DenialReason)
        /// A fault of the modules, of their configuration or of a service behind them.
        case unknown
    }

    /// The reason why a module rejects a user.
    enum DenialReason: Sendable, Hashable {
        /// The password or the user is wrong.
        case wrong
        /// The user is denied, whatever the password.
        case denied
        /// The account or its password has expired.
        case expired
    }

    /// Whether this is `PAM_SYSTEM_ERR`, the code of pam_exec for each command that fails.
    var isSystemError: Bool { CInt(number) == PAM_SYSTEM_ERR }

    /// The class of the code. Only codes that modules return to reject a user are `bad`; faults and unknown codes are
    /// `unknown`.
    var meaning: Meaning {
        switch CInt(number) {
        case PAM_SUCCESS: .good
        case PAM_AUTH_ERR, PAM_USER_UNKNOWN, PAM_MAXTRIES: .bad(.wrong)
        case PAM_PERM_DENIED: .bad(.denied)
        case PAM_NEW_AUTHTOK_REQD, PAM_ACCT_EXPIRED, PAM_CRED_EXPIRED, PAM_AUTHTOK_EXPIRED: .bad(.expired)
        default: .unknown
        }
    }
}
