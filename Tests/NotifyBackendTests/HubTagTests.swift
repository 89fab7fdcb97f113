import Testing

@testable import NotifyBackend

@Suite struct HubTagTests {
    @Test(
        "The hub splits, trims and deduplicates tags",
        arguments: [
            (["a", "b"], ["a", "b"]),
            (["x,username:bob"], ["x", "username:bob"]),
            (["", " ", "a"], ["a"]),
            ([",,a,,"], ["a"]),
            ([" a "], ["a"]),
            (["Tag", "tAG"], ["Tag"]),
            (["$InstallationId:{12-3}"], ["$InstallationId:{12-3}"]),
        ])
    func theHubSplitsTrimsAndDeduplicatesTags(_ given: [String], _ stored: [String]) throws {
        #expect(try HubTag.stored(given) == stored)
    }

    @Test(
        "A tag with other characters is rejected",
        arguments: ["a b", "é", "a|b", "$x", "a'", "\0", "{a}", "$UserId:{a}b", "$a{b"])
    func aTagWithOtherCharactersIsRejected(_ tag: String) {
        #expect(throws: HubFailure.badRequest) { try HubTag.stored([tag]) }
    }

    @Test("The length and number of tags are bounded") func theLengthAndNumberOfTagsAreBounded() throws {
        #expect(try HubTag.stored([String(repeating: "a", count: 120)]).count == 1)
        #expect(throws: HubFailure.badRequest) { try HubTag.stored([String(repeating: "a", count: 121)]) }
        #expect(try HubTag.stored((0..<60).map { "t\($0)" }).count == 60)
        #expect(throws: HubFailure.badRequest) { try HubTag.stored((0..<61).map { "t\($0)" }) }
    }
}
