import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

/// Policies that are not enforced, and the recorded facts about tags and sends that no rule allows.
@Suite struct ShadowPolicyTests {
    private func gateway(
        isEnforced: Bool, _ tagsNotAllowed: Policy.TagsNotAllowed = .refuse,
        deciding decision: LedgerDecision = .own(Sample.other)
    ) -> TestGateway {
        TestGateway(
            adjust: { rules in
                rules.policy.isEnforced = isEnforced
                rules.policy.tagsNotAllowed = tagsNotAllowed
                rules.policy.send = [.init(from: .anyUser, to: .sender)]
            }, deciding: { _ in decision })
    }

    private func sentTags(_ gateway: TestGateway) throws -> JSONValue? {
        let body = try #require(gateway.backend.requests.first).body
        return try JSONParser().parse(body.span)["Tags"]
    }

    @Test("A shadow policy forwards a send that no rule allows, and records it")
    func aShadowPolicyForwardsSends() async throws {
        let gateway = gateway(isEnforced: false)
        #expect(await gateway.serve(Sample.send()).status == 200)
        #expect(gateway.journal.records(.intent).map(\.facts?.rule) == ["would-refuse"])
        #expect(gateway.journal.records(.outcome).map(\.facts?.rule) == ["would-refuse"])
        #expect(gateway.backend.requests.map(\.target) == ["/api/notifications?pns=apns&to_tag=bob"])
        #expect(await gateway.serve(Sample.send(to: "alice")).status == 200)
        #expect(gateway.journal.records(.intent).map(\.facts?.rule) == ["would-refuse", "send[0]"])
    }

    @Test(
        "A shadow policy registers tags that no rule allows, and records them",
        arguments: Policy.TagsNotAllowed.allCases)
    func aShadowPolicyRegistersTags(_ tagsNotAllowed: Policy.TagsNotAllowed) async throws {
        let gateway = gateway(isEnforced: false, tagsNotAllowed)
        let request = Sample.put(Sample.body(tags: #"["topic:a","Region:x","b"]"#))
        #expect(await gateway.serve(request).status == 200)
        let facts = try #require(gateway.journal.records(.intent).first?.facts)
        #expect(facts.rule == "would-refuse" && facts.tags.map(\.text) == ["b", "Region:x"])
        #expect(gateway.journal.records(.outcome).first?.facts == facts)
        #expect(try sentTags(gateway) == .array([.string("b"), .string("Region:x"), .string("topic:a")]))
    }

    @Test("Dropped tags are recorded") func droppedTagsAreRecorded() async throws {
        let gateway = gateway(isEnforced: true, .drop)
        let request = Sample.put(Sample.body(tags: #"["topic:a","region:x","REGION:X","b"]"#))
        #expect(await gateway.serve(request).status == 200)
        let facts = try #require(gateway.journal.records(.intent).first?.facts)
        #expect(facts.rule == "tags-dropped" && facts.tags.map(\.key) == ["b", "region:x"])
        #expect(try sentTags(gateway) == .array([.string("topic:a")]))
    }

    @Test("Rejected tags are recorded") func rejectedTagsAreRecorded() async throws {
        let gateway = gateway(isEnforced: true)
        await gateway.expect(.tagNotAllowed, for: Sample.put(Sample.body(tags: #"["topic:a","region:x"]"#)))
        let facts = try #require(gateway.journal.records(.rejection).first?.facts)
        #expect(facts.rule == nil && facts.tags.map(\.text) == ["region:x"])
    }

    @Test("Tags that a rule allows are not recorded") func tagsThatARuleAllowsAreNotRecorded() async throws {
        for isEnforced in [true, false] {
            let gateway = gateway(isEnforced: isEnforced, .drop)
            #expect(await gateway.serve(Sample.put(Sample.body(tags: #"["topic:a","username:alice"]"#))).status == 200)
            let facts = try #require(gateway.journal.records(.intent).first?.facts)
            #expect(facts.rule == nil && facts.tags.isEmpty)
        }
    }

    @Test(
        "A shadow policy rejects reserved and malformed tags",
        arguments: [
            "from:alice", "FROM:alice", "username:bob", "x,username:bob", "$UserId:{bob}", "", "a b",
            String(repeating: "x", count: 121),
        ])
    func aShadowPolicyRejectsReservedTags(_ tag: String) async {
        for tagsNotAllowed in Policy.TagsNotAllowed.allCases {
            await gateway(isEnforced: false, tagsNotAllowed).expect(
                .tagNotAllowed, for: Sample.put(Sample.body(tags: "[\"topic:a\",\"\(tag)\"]")))
        }
    }

    @Test("A shadow policy enforces ownership") func aShadowPolicyEnforcesOwnership() async {
        await gateway(isEnforced: false, deciding: .notOwned).expect(.notOwner, for: Sample.delete)
        let refusing = TestGateway(
            adjust: { rules in
                rules.policy.isEnforced = false
                rules.policy.ownershipTransfer = .refuse
            }, deciding: { _ in .ownershipTransfer(Sample.other, from: UserName(canonical: "bob")!) })
        await refusing.expect(.notOwner, for: Sample.put())
    }

    @Test("A shadow policy rejects recipients that are not user names")
    func aShadowPolicyRejectsRecipientsThatAreNotUserNames() async {
        for recipient in ["x%7C%7C!y", "bob%7C%7Cusername:carol", "*", "group:dispatch", "from:alice", ""] {
            await gateway(isEnforced: false).expect(.malformedRequest, for: Sample.send(to: recipient))
        }
    }
}
