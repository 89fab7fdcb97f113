import Testing

@testable import NotifyBackend

@Suite struct ChannelFilterTests {
    @Test(
        "A handle without an injection matches only itself",
        arguments: ["", "token", "a:b-c_d.e", "https://db5.notify.windows.com/?token=a%2b&x=1", "é", "it''s"])
    func aHandleWithoutAnInjectionMatchesOnlyItself(_ handle: String) throws {
        let filter = try ChannelFilter(pasting: handle)
        #expect(filter.onlyHandle == handle.replacing("''", with: "'"))
        #expect(filter.matches(handle.replacing("''", with: "'")))
        #expect(!filter.matches(handle + "x"))
    }

    @Test(
        "A handle with a quote matches other handles",
        arguments: [
            "x' or channeluri ne '", "x' or ChannelUri gt '", "x' or channeluri ge 'a' and channeluri lt 'z",
        ])
    func aHandleWithAQuoteMatchesOtherHandles(_ handle: String) throws {
        let filter = try ChannelFilter(pasting: handle)
        #expect(filter.onlyHandle == nil)
        #expect(filter.matches("token-of-bob"))
    }

    @Test(
        "A malformed filter is rejected",
        arguments: [
            "'", "a'b", "x' or ", "x' or channeluri", "x' or channeluri eq", "x' or tag eq 'a",
            "x' xor channeluri eq 'a",
            "x' or channeluri is 'a", "x' or (channeluri eq 'a')",
        ])
    func refusesMalformed(_ handle: String) {
        #expect(throws: HubFailure.badRequest) { try ChannelFilter(pasting: handle) }
    }

    @Test("The length of a filter is bounded") func isBounded() {
        let handle = "x" + String(repeating: "' or channeluri eq 'x", count: 10_000)
        #expect(throws: HubFailure.badRequest) { try ChannelFilter(pasting: handle) }
    }
}
