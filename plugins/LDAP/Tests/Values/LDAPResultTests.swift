import CLDAP
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import LDAP

@Suite("Decisions on findings")
struct LDAPResultTests {
    private static func findings(
        _ bind: BindResult? = BindResult(code: 0), _ change: (inout DirectoryFindings) -> Void = { _ in }
    ) -> DirectoryFindings {
        var findings = DirectoryFindings(entries: 1, names: ["alice"], bind: bind)
        findings.groups = Set(["staff"].compactMap(GroupName.init))
        change(&findings)
        return findings
    }

    private static func decide(
        _ findings: DirectoryFindings, _ operation: DirectoryRequest.Operation = .login
    ) -> LDAPResult {
        LDAPResult(findings, of: operation, now: .test) { $0 == "alice" }
    }

    private static let granted = LDAPResult.granted(groups: Set(["staff"].compactMap(GroupName.init)))

    @Test("Only a successful bind of the only entry with the user's name is granted")
    func granted() {
        #expect(Self.decide(Self.findings()) == Self.granted)
        #expect(Self.decide(Self.findings { $0.names = ["other", "alice"] }) == Self.granted)
        #expect(Self.decide(Self.findings { $0.names = ["other"] }) == .refused(.wrong, isKnown: true))
        #expect(Self.decide(Self.findings { $0.names = [] }) == .undecided(.unreadableName))
        #expect(Self.decide(Self.findings { $0.entries = 0 }) == .refused(.wrong, isKnown: false))
        #expect(Self.decide(Self.findings { $0.entries = 2 }) == .undecided(.ambiguousUser))
        #expect(Self.decide(Self.findings(nil)) == .undecided(.bind))
    }

    @Test("Each result code has its class, and codes that say nothing of the account are undecided")
    func codes() {
        var rejecting: [Int32: LDAPResult] = [:]
        rejecting[LDAP_INVALID_CREDENTIALS] = .refused(.wrong, isKnown: true)
        rejecting[LDAP_INAPPROPRIATE_AUTH] = .refused(.wrong, isKnown: true)
        rejecting[LDAP_NO_SUCH_OBJECT] = .refused(.wrong, isKnown: true)
        rejecting[LDAP_CONSTRAINT_VIOLATION] = .refused(.disabled, isKnown: true)
        rejecting[LDAP_SUCCESS] = Self.granted
        for code in Int32(-20)...130 {
            #expect(
                Self.decide(Self.findings(BindResult(code: code))) == rejecting[code] ?? .undecided(.bind), "\(code)")
        }
    }

    @Test(
        "Active Directory's codes are read from the diagnostic message",
        arguments: [
            ("525", InvalidCredentialReason.wrong), ("52e", .wrong), ("530", .disabled), ("531", .disabled),
            ("532", .expired), ("533", .disabled), ("701", .expired), ("773", .expired), ("775", .disabled),
            ("ffffffff", .wrong), ("", .wrong), ("zz", .wrong), ("1234567890", .wrong),
        ])
    func detailCodes(_ detail: String, _ reason: InvalidCredentialReason) {
        let message = "80090308: LdapErr: DSID-0C090439, comment: AcceptSecurityContext error, data \(detail), v4563"
        let bind = BindResult(code: LDAP_INVALID_CREDENTIALS, detail: BindResult.detail(in: message))
        #expect(Self.decide(Self.findings(bind)) == .refused(reason, isKnown: true))
        #expect(BindResult.detail(in: "data 533") == 0)
    }

    @Test("An account that 389 Directory Server inactivated is disabled; another refusal to serve is undecided")
    func inactivated() {
        let code = LDAP_UNWILLING_TO_PERFORM
        let inactivated = BindResult(code: code, message: "Account inactivated. Contact system administrator.")
        #expect(Self.decide(Self.findings(inactivated)) == .refused(.disabled, isKnown: true))
        for message in ["", "operation restricted", "unauthenticated bind (DN with no password) disallowed"] {
            #expect(Self.decide(Self.findings(BindResult(code: code, message: message))) == .undecided(.bind))
        }
        let elsewhere = BindResult(code: LDAP_BUSY, message: "Account inactivated. Contact system administrator.")
        #expect(Self.decide(Self.findings(elsewhere)) == .undecided(.bind))
    }

    @Test("Attributes and filter disable an account after the right password, and reveal nothing after a wrong one")
    func attributes() {
        let wrong = BindResult(code: LDAP_INVALID_CREDENTIALS)
        for (values, reason) in [
            ([AccountAttributes.Name.userAccountControl: "514"], InvalidCredentialReason.disabled),
            ([.nsAccountLock: "true"], .disabled), ([.pwdAccountLockedTime: "000001010000Z"], .disabled),
            ([.accountExpires: "133444736000000000"], .expired), ([.shadowExpire: "0"], .expired),
        ] {
            let disable = { (findings: inout DirectoryFindings) in findings.attributes.values = values }
            #expect(Self.decide(Self.findings(BindResult(code: 0), disable)) == .refused(reason, isKnown: true))
            #expect(Self.decide(Self.findings(wrong, disable)) == .refused(.wrong, isKnown: true))
            #expect(
                Self.decide(Self.findings(BindResult(code: 0), disable), .accountStatus)
                    == .refused(.expired, isKnown: true))
        }
        #expect(Self.decide(Self.findings { $0.isUsable = false }) == .refused(.disabled, isKnown: true))
        #expect(
            Self.decide(Self.findings(nil) { $0.isUsable = false }, .accountStatus) == .refused(.expired, isKnown: true)
        )
    }

    @Test(
        "Attributes of usable accounts, and values that cannot be read, disable nothing",
        arguments: [
            [AccountAttributes.Name.userAccountControl: "512"], [.userAccountControl: "x"], [.nsAccountLock: "FALSE"],
            [.pwdAccountLockedTime: "20261121060000Z"], [.accountExpires: "0"],
            [.accountExpires: "9223372036854775807"],
            [.accountExpires: "-1"], [.accountExpires: "999999999999999999999"], [.shadowExpire: "-1"],
            [.shadowExpire: "99999"], [.shadowExpire: ""],
        ])
    func usable(_ values: [AccountAttributes.Name: String]) {
        #expect(Self.decide(Self.findings { $0.attributes.values = values }) == Self.granted)
    }

    @Test("An account expires at its day and not before")
    func expiry() {
        let day = WallTime.test.seconds / 86_400
        #expect(AccountAttributes(values: [.shadowExpire: "\(day)"]).state(at: .test) == .expired)
        #expect(AccountAttributes(values: [.shadowExpire: "\(day + 1)"]).state(at: .test) == .usable)
        let ticks = (WallTime.test.seconds + 11_644_473_600) * 10_000_000
        #expect(AccountAttributes(values: [.accountExpires: "\(ticks)"]).state(at: .test) == .expired)
        #expect(AccountAttributes(values: [.accountExpires: "\(ticks + 10_000_000)"]).state(at: .test) == .usable)
    }
}
