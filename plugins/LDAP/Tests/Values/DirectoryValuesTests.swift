import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import LDAP

@Suite("URLs and distinguished names")
struct DirectoryValuesTests {
    @Test(
        "URLs are parsed strictly",
        arguments: [
            ("ldaps://ldap.example.com", true, false), ("LDAPS://ldap.example.com:636/", true, false),
            ("ldap://127.0.0.1:389", false, true), ("ldap://[::1]", false, true), ("ldap://localhost", false, true),
            ("ldap://10.0.0.1", false, false), ("ldap://127.0.0.1.example.com", false, false),
            ("ldapi://%2Frun%2Fslapd%2Fldapi", false, true),
        ])
    func urls(_ text: String, _ isTLS: Bool, _ isLocal: Bool) throws {
        let url = try #require(DirectoryURL(text))
        #expect(url.isTLS == isTLS)
        #expect(url.isLocal == isLocal)
    }

    @Test("A URL says where the server listens")
    func endpoints() {
        for (text, endpoint) in [
            ("ldaps://ldap.example.com", DirectoryURL.Endpoint.tcp(host: "ldap.example.com", port: 636)),
            ("ldap://ldap.example.com/", .tcp(host: "ldap.example.com", port: 389)),
            ("ldap://[::1]:1389", .tcp(host: "::1", port: 1389)),
            ("ldaps://[2001:db8::1]", .tcp(host: "2001:db8::1", port: 636)),
            ("ldapi://%2Frun%2Fslapd%2Fldapi", .unix("/run/slapd/ldapi")),
        ] {
            #expect(DirectoryURL(text)?.endpoint == endpoint)
        }
    }

    @Test(
        "Other text is no URL",
        arguments: [
            "", "ldap://", "http://x", "ldap.example.com", "ldaps://x/dc=example", "ldaps://x?uid",
            "ldaps://x ldap://y",
            "ldaps://user@x", "ldaps://x:0", "ldaps://x:65536", "ldaps://x:", "ldaps://[::1", "ldapi://run", "ldapi://",
            "ldaps://x%00", "ldaps://x,ldap://y",
        ])
    func otherText(_ text: String) {
        #expect(DirectoryURL(text) == nil)
    }

    @Test("Names are compared by their components, not by their text")
    func names() throws {
        let base = try #require(DistinguishedName("ou=groups,dc=example,dc=com"))
        func isBelow(_ text: String) -> Bool { DistinguishedName(text)?.isBelow(base) == true }
        #expect(isBelow("cn=a,ou=groups,dc=example,dc=com"))
        #expect(isBelow("CN=a, OU=Groups , DC=Example,DC=com"))
        #expect(isBelow("cn=a,ou=b,ou=groups,dc=example,dc=com"))
        #expect(!isBelow("ou=groups,dc=example,dc=com"))
        #expect(!isBelow("cn=a,ou=mygroups,dc=example,dc=com"))
        #expect(!isBelow("cn=a\\,ou=groups,dc=example,dc=com"))
        #expect(!isBelow("cn=a,ou=groups,dc=example,dc=com,dc=evil"))
        #expect(!isBelow("cn=a"))
    }

    @Test("The name of a group is the value of its own component, unescaped, of the right type only")
    func groupNames() {
        func name(_ text: String) -> String? { DistinguishedName(text)?.name(of: "cn") }
        #expect(name("cn=staff,dc=example") == "staff")
        #expect(name("CN=a\\,b,dc=example") == "a,b")
        #expect(name("ou=staff,cn=x") == nil)
        #expect(name("cn=staff+ou=x,dc=example") == nil)
        #expect(name("") == nil)
    }

    @Test("Malformed names are refused", arguments: ["x", "cn", "=x", "cn=a,,dc=b", "cn=a\u{0}b", "cn=\\zz"])
    func malformedNames(_ text: String) {
        #expect(DistinguishedName(text) == nil)
    }

    @Test("Only names and passwords within the grammar are sent")
    func grammar() {
        for (name, isName) in [
            ("alice", true), ("a b", true), ("*", true), ("", false), ("a\nb", false), ("a\u{0}", false),
            (String(repeating: "a", count: 256), true), (String(repeating: "a", count: 257), false),
        ] { #expect(LoginGrammar.isName(LoginName(name)) == isName) }
        func isPassword(_ bytes: [UInt8]) -> Bool { LoginGrammar.isPassword(Secret(bytes)) }
        #expect(!isPassword([]))
        #expect(!isPassword([0x78, 0]))
        #expect(isPassword([0xFF]))
        #expect(isPassword([UInt8](repeating: 0x78, count: 1024)))
        #expect(!isPassword([UInt8](repeating: 0x78, count: 1025)))
    }
}
