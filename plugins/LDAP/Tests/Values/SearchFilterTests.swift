import GatewayTesting
import Testing

@testable import LDAP

@Suite("Search filters")
struct SearchFilterTests {
    @Test(
        "Every byte that could have a meaning is escaped",
        arguments: [
            ("alice", "alice"), ("a.b_c-d@e", "a.b_c-d@e"), ("*", "\\2a"), ("(", "\\28"), (")", "\\29"), ("\\", "\\5c"),
            ("\u{0}", "\\00"), ("a b", "a\\20b"), ("\u{E9}", "\\c3\\a9"), ("*)(uid=*", "\\2a\\29\\28uid\\3d\\2a"),
            ("{user}", "\\7buser\\7d"), ("", ""),
        ])
    func escaping(_ value: String, _ escaped: String) {
        #expect(SearchFilter.escaped(value) == escaped)
    }

    @Test("Escaped values have only bytes of a fixed alphabet, and no value changes the structure of a filter")
    func structure() throws {
        let filter = try SearchFilter("(&(objectClass=person)(|(uid={user})(mail={user})))", placeholders: ["user"])
        for value in TestData.naughtyStrings + ["*", "x)(", ")(|(uid=*", "{user}", "\\29", "\u{0}"] {
            let filled = filter.filled(["user": value])
            #expect(FilterSyntax.isFilter(filled), "\(value.debugDescription)")
            #expect(filled.count { $0 == "(" } == 5)
            #expect(!filled.contains("*"))
        }
    }

    @Test("Placeholders are replaced in one pass, also where a value looks like one")
    func placeholders() throws {
        let filter = try SearchFilter("(&(member={dn})(cn={user}))", placeholders: ["dn", "user"])
        #expect(filter.filled(["dn": "uid=a", "user": "b"]) == "(&(member=uid\\3da)(cn=b))")
        #expect(filter.filled(["dn": "{user}", "user": "b"]) == "(&(member=\\7buser\\7d)(cn=b))")
        #expect(try SearchFilter("(cn=a{b}c)", placeholders: []).filled(["user": "x"]) == "(cn=a{b}c)")
    }

    @Test(
        "Filters with a mistake are refused",
        arguments: [
            "", "uid={user}", "(uid={user}", "(uid={user}))", "(uid={user})(x=y)", "()", "(=x)", "(uid)", "(&)",
            "(&(uid={user})",
            "(!(uid={user})(a=b))", "(uid=\\zz)", "(uid=\\2)", "(u id={user})", "(uid={user}) ", " (uid={user})",
            String(repeating: "(!", count: 20) + "(uid={user})" + String(repeating: ")", count: 20),
        ])
    func syntax(_ text: String) {
        #expect(throws: SearchFilter.Fault.syntax) { try SearchFilter(text, placeholders: ["user"]) }
    }

    @Test(
        "A placeholder that is not a whole value, and a filter without one, are refused",
        arguments: [
            ("(uid=x{user})", SearchFilter.Fault.placeholder("user")), ("(uid={user}*)", .placeholder("user")),
            ("(uid=*{user})", .placeholder("user")), ("(|(uid={user})(mail={user}@example.com))", .placeholder("user")),
            ("(uid=alice)", .withoutPlaceholder("{user}")), ("(uid={name})", .withoutPlaceholder("{user}")),
        ])
    func wholeValues(_ text: String, _ fault: SearchFilter.Fault) {
        #expect(throws: fault) { try SearchFilter(text, placeholders: ["user"]) }
    }

    @Test("Filters of common directories are accepted")
    func common() throws {
        for text in [
            "(uid={user})", "(sAMAccountName={user})", "(|(uid={user})(mail={user}))",
            "(&(objectClass=user)(!(userAccountControl:1.2.840.113556.1.4.803:=2))(sAMAccountName={user}))",
            "(&(uid={user})(memberOf=cn=push,ou=groups,dc=example,dc=com))", "(&(cn;lang-en=*)(uid={user}))",
        ] {
            _ = try SearchFilter(text, placeholders: ["user"])
        }
    }
}
