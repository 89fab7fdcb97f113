internal import CPAM

/// What libpam returned.
struct PAMCode: Hashable, Sendable, CustomStringConvertible {
    /// `PAM_SUCCESS` to `PAM_INCOMPLETE`; 254 for anything that is none of them.
    let number: UInt8

    static let success = PAMCode(PAM_SUCCESS)

    init(_ status: CInt) {
        number = (0..<32).contains(status) ? UInt8(status) : 254
    }

    var description: String { "\(number)" }

    /// What it says of a login.
    enum Meaning: Sendable, Hashable {
        case good
        case bad(Badness)
        /// Something under the modules, or in how they are set up, keeps them from telling.
        case unknown
    }

    /// Why a code is a refusal.
    enum Badness: Sendable, Hashable {
        /// Password or user.
        case wrong
        /// The user, with whatever password.
        case denied
        /// The account or its password is too old.
        case expired
    }

    /// Only what modules return to say no is a no: codes that are faults, and ones that nobody has thought of, are neither.
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
