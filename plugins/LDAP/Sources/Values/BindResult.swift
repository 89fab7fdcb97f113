internal import CLDAP

/// The server's result of a bind with the user's password.
struct BindResult: Sendable, Hashable {
    /// The LDAP result code (RFC 4511, appendix A); negative for faults that libldap found.
    let code: Int32
    /// The code after `data` in a diagnostic message of Active Directory, or the one that means the same as the message of
    /// another server; 0 if there is none.
    let detail: UInt32

    init(code: Int32, detail: UInt32 = 0) {
        self.code = code
        self.detail = detail
    }

    /// Creates a result with the code in the diagnostic message.
    init(code: Int32, message: String) {
        switch code {
        case LDAP_INVALID_CREDENTIALS: self.init(code: code, detail: Self.detail(in: message))
        // 389 Directory Server responds this to any password, wrong ones included.
        case LDAP_UNWILLING_TO_PERFORM where message.contains("Account inactivated"):
            self.init(code: code, detail: Self.accountDisabled)
        default: self.init(code: code)
        }
    }

    /// `ERROR_ACCOUNT_DISABLED` of Active Directory.
    private static let accountDisabled: UInt32 = 0x533

    /// The classes of results.
    enum Meaning: Sendable, Hashable {
        case accepted
        /// The password or the name is wrong.
        case wrong
        /// The account is disabled or locked.
        case disabled
        /// The account or its password has expired.
        case expired
        /// The server could not verify the password, or does not permit binds.
        case unknown
    }

    /// The class of the result. Only codes that say something about the account reject a user.
    var meaning: Meaning {
        switch code {
        case LDAP_SUCCESS: .accepted
        case LDAP_INVALID_CREDENTIALS: Self.meaning(ofDetail: detail)
        // The entry has no password, or was deleted after the search.
        case LDAP_INAPPROPRIATE_AUTH, LDAP_NO_SUCH_OBJECT: .wrong
        // 389 Directory Server: too many wrong passwords.
        case LDAP_CONSTRAINT_VIOLATION: .disabled
        // 389 Directory Server: an account that an administrator inactivated.
        case LDAP_UNWILLING_TO_PERFORM where detail == Self.accountDisabled: .disabled
        default: .unknown
        }
    }

    private static func meaning(ofDetail detail: UInt32) -> Meaning {
        switch detail {
        // ERROR_ACCOUNT_DISABLED, ERROR_INVALID_LOGON_HOURS, ERROR_INVALID_WORKSTATION, ERROR_ACCOUNT_LOCKED_OUT
        case Self.accountDisabled, 0x530, 0x531, 0x775: .disabled
        // ERROR_PASSWORD_EXPIRED, ERROR_ACCOUNT_EXPIRED, ERROR_PASSWORD_MUST_CHANGE
        case 0x532, 0x701, 0x773: .expired
        default: .wrong
        }
    }

    /// Returns the code of a diagnostic message such as `80090308: LdapErr: DSID-0C090439, comment:
    /// AcceptSecurityContext error, data 533, v4563`; 0 for other messages.
    static func detail(in message: String) -> UInt32 {
        guard message.contains("AcceptSecurityContext error"), let start = message.firstRange(of: ", data ") else {
            return 0
        }
        return UInt32(message[start.upperBound...].prefix(8).prefix { $0.isHexDigit }, radix: 16) ?? 0
    }
}
