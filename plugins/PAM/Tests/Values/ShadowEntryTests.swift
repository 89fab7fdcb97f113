import Testing

@testable import PAM

@Suite("Entries of the shadow file")
struct ShadowEntryTests {
    @Test(
        "A password with a lock before it is locked, and an account that never had one is not",
        arguments: [
            ("!$y$j9T$abc$def", true), ("!!$6$abc$def", true), ("!abJnggxhB/yWI", true), ("!", false), ("!!", false),
            ("*", false), ("!*", false), ("", false), ("$y$j9T$abc$def", false), ("x", false),
        ])
    func locked(_ password: String, _ isLocked: Bool) {
        #expect(ShadowEntry.isLocked(password) == isLocked)
    }

    @Test("An account expires on its day, or when its password has been expired for too long")
    func expired() {
        func isExpired(_ expires: Int, _ change: Int = 20_000, _ age: Int = -1, _ inactivity: Int = -1) -> Bool {
            ShadowEntry.isExpired(
                expires: expires, lastChange: change, maximumAge: age, inactivity: inactivity, day: 20_000)
        }
        #expect(!isExpired(-1))
        #expect(!isExpired(20_001))
        #expect(isExpired(20_000))
        #expect(isExpired(1))
        #expect(isExpired(0))
        #expect(!isExpired(-1, 19_900, 99_999, 7))
        #expect(!isExpired(-1, 19_900, 90, 10))
        #expect(isExpired(-1, 19_899, 90, 10))
        #expect(!isExpired(-1, 19_000, 90, -1))
        // A password that must be changed, and one from the future.
        #expect(!isExpired(-1, 0, 90, 10))
        #expect(!isExpired(-1, 20_100, 90, 10))
        for number in [Int.min, .max] {
            #expect(!isExpired(-1, number, number, number))
            #expect(!isExpired(-1, 1, number, number) || number < 0)
        }
    }

    @Test("An account without an entry is neither expired nor locked")
    func absent() {
        let entry = ShadowEntry(of: "no-such-account")
        #expect(!entry.isExpired)
        #expect(!entry.isLocked)
    }
}
