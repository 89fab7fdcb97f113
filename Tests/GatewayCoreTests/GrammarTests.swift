import GatewayCore
import GatewaySupport
import Testing

@Suite struct RegistrationIDTests {
    @Test(
        "A valid registration id is accepted",
        arguments: [
            "7260336227650468927-4200236381151834034-1", "1-2-3", "00000000000000000000-0-000",
            "99999999999999999999-99999999999999999999-999",
        ])
    func accepts(_ text: String) throws {
        #expect(try #require(RegistrationID(text)).text == text)
    }

    @Test(
        "An invalid registration id is rejected",
        arguments: [
            "", "-", "--", "1", "1-", "1-2", "1-2-", "-1-2-3", "1--2-3", "1-2-3-", "1-2-3-4", "..", ".", "1-2-3/..",
            "1-2-3 ",
            " 1-2-3", "1-2-3\n", "1-2-3\u{0}", "1-2-3333", "111111111111111111111-2-3", "1-222222222222222222222-3",
            "a-b-c",
            "+1-2-3", "1-2--3", "1.2.3", "1-2-3%2f", "١-٢-٣", "１-２-３", "1\u{2010}2\u{2010}3", "1-2-3\u{301}", "0x1-2-3",
        ])
    func refuses(_ text: String) {
        #expect(RegistrationID(text) == nil)
    }
}

@Suite struct TagTests {
    @Test(
        "A valid tag is accepted",
        arguments: ["a", "topic:news", "A_Z@#.:-9", "username:bob", "::", String(repeating: "x", count: 120)])
    func accepts(_ text: String) throws {
        #expect(try #require(Tag(text)).text == text)
    }

    @Test(
        "An invalid tag is rejected",
        arguments: [
            "", " ", "a b", "x,username:bob", "$UserId:{bob}", "$InstallationId:{1}", "a\u{0}", "a\n", "é", "a||b",
            "!a",
            "a&&b",
            "(a)", "a/b", "a\\b", "a'b", "a\"b", "a+b", "a*", "\u{212A}", "a\u{301}",
            String(repeating: "x", count: 121),
        ])
    func refuses(_ text: String) {
        #expect(Tag(text) == nil)
    }

    @Test("A tag compares without case and keeps its text") func aTagComparesWithoutCaseAndKeepsItsText() throws {
        let tag = try #require(Tag("Topic:News"))
        #expect(tag == Tag("tOPIC:nEWS"))
        #expect(tag.hashValue == Tag("topic:news")?.hashValue)
        #expect(tag.text == "Topic:News")
        #expect(tag.key == "topic:news")
        #expect(tag != Tag("topic:newz"))
    }

    @Test("A tag's namespace is the part before the first colon") func aTagsNamespaceIsThePartBeforeTheFirstColon() {
        #expect(Tag("USERNAME:bob:x")?.namespace == "username")
        #expect(Tag(":bob")?.namespace == "")
        #expect(Tag("username")?.namespace == nil)
    }

    @Test("A tag has room for the longest user name") func aTagHasRoomForTheLongestUserName() throws {
        let user = try #require(UserName(canonical: String(repeating: "u", count: UserName.maximumLength)))
        #expect(Tag(of: user) == Tag("username:\(user.text)"))
        #expect(Tag(of: user).text.utf8.count == Tag.maximumLength)
    }
}

@Suite struct UserNameTests {
    @Test(
        "A canonical user name is accepted",
        arguments: ["a", "alice", "a_b@c.d-e", "007", String(repeating: "x", count: 111)])
    func accepts(_ text: String) {
        #expect(UserName(canonical: text)?.text == text)
    }

    @Test(
        "A user name that is not canonical is rejected",
        arguments: [
            "", "Alice", "a b", "a:b", "a,b", "a|b", "a#b", "a$b", "é", "a\n", "a\u{0}", "a\u{301}", "a'b", "a\"b",
            "a<b",
            "a\\b", "a%b", "bob||username:carol", "x||!y", String(repeating: "x", count: 112),
        ])
    func refuses(_ text: String) {
        #expect(UserName(canonical: text) == nil)
    }
}

@Suite struct WordTests {
    @Test("Three platform identifiers stand for FCM") func threePlatformIdentifiersStandForFCM() {
        for word in ["gcm", "FCM", "FcmV1"] { #expect(Platform(word: word)?.service == .fcm) }
        #expect(Platform(word: "MPNS")?.service == .mpns)
    }

    @Test(
        "An unknown platform identifier is rejected",
        arguments: ["", "apn", "apns ", "аpns", "fcmv2", "windows", "adm", "baidu", "apns\u{0}"])
    func anUnknownPlatformIdentifierIsRejected(_ word: String) {
        #expect(Platform(word: word) == nil)
    }

    @Test("Each service has its payload limit") func payloadLimits() {
        #expect(PushService.allCases.map(\.payloadLimit) == [4096, 5120, 5120, 4096])
    }

    @Test("A group name keeps its case and conforms to its grammar") func groupNames() {
        #expect(GroupName("Dispatch_1.x-y")?.text == "Dispatch_1.x-y")
        #expect(GroupName("dispatch") != GroupName("Dispatch"))
        for text in ["", "a b", "a@b", "a:b", "é", String(repeating: "g", count: 65)] {
            #expect(GroupName(text) == nil)
        }
    }

    @Test("A call id has 32 hexadecimal digits") func aCallIDHas32HexadecimalDigits() {
        #expect(CallID(process: 0xFEED, number: 1).text == "000000000000feed0000000000000001")
        #expect(CallID(process: .max, number: .max).text == String(repeating: "f", count: 32))
    }

    @Test("An IPv6 address is limited by its /64") func anIPv6AddressIsLimitedByIts64() {
        let one = Peer(address: .v6(1, 2), text: "a")
        let other = Peer(address: .v6(1, 3), text: "b")
        #expect(one.limitKey == other.limitKey)
        #expect(one != other)
        #expect(Peer(address: .v4(1), text: "c").limitKey != Peer(address: .v4(2), text: "d").limitKey)
        #expect(Peer(address: .v4(1), text: "c") == Peer(address: .v4(1), text: "other text"))
    }
}
