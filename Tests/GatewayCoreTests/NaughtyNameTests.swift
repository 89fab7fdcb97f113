import GatewayCore
import GatewayTesting
import Testing

@Suite(.enabled(if: !TestData.naughtyStrings.isEmpty, "the Big List of Naughty Strings is not beside the package"))
struct NaughtyNameTests {
    @Test("A naughty string has a valid canonical user name or none")
    func aNaughtyStringHasAValidCanonicalUserNameOrNone() {
        for text in TestData.naughtyStrings {
            for rules in [NameRules(), NameRules(escaping: .hex)] {
                if let user = rules.canonical(LoginName(text)) { #expect(UserName(canonical: user.text) == user) }
            }
        }
    }
}
