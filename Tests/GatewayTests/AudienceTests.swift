import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(2))) struct AudienceTests {
    private static let oncall = AudienceName("oncall")!

    /// A gateway whose audience `oncall` has these members, and whose policy lets alice's group send to it.
    private func gateway(
        _ members: [String], limits: [Limit] = [], adjust: (inout CompiledConfiguration) -> Void = { _ in },
        answering response: @escaping @Sendable (CapturedRequest) async -> BackendResult = ScriptedBackend
            .alwaysSucceeds
    ) -> TestGateway {
        TestGateway(
            adjust: { rules in
                rules.policy.send = [
                    .init(from: .anyUser, to: .anyUser),
                    .init(from: .group(GroupName("dispatch")!), to: .audience(Self.oncall)),
                ]
                rules.policy.audiences = [Self.oncall: members.map { UserName(canonical: $0)! }]
                rules.limiter = Limiter(limits, clocks: ManualClock().clocks)
                adjust(&rules)
            }, answering: response)
    }

    private func counts(_ response: Response) throws -> [Int64?] {
        let value = try JSONParser().parse(response.body.span)
        return ["accepted", "skipped", "failed"].map { value[$0]?.integer }
    }

    /// Expects exactly one outcome for every intent.
    private func expectOutcomes(_ gateway: TestGateway, sourceLocation: Testing.SourceLocation = #_sourceLocation) {
        let intents = gateway.journal.records(.intent).map(\.facts)
        let outcomes = gateway.journal.records(.outcome).map(\.facts)
        #expect(Set(intents).count == intents.count, sourceLocation: sourceLocation)
        #expect(Set(outcomes).count == outcomes.count, sourceLocation: sourceLocation)
        #expect(Set(intents) == Set(outcomes), sourceLocation: sourceLocation)
    }

    @Test("The gateway records all intents before the first send to a member")
    func theGatewayRecordsAllIntentsBeforeTheFirstSendToAMember() async throws {
        let members = (0..<40).map { "user\($0)" }
        let gateway = gateway(members)
        let response = await gateway.serve(Sample.send("\"say \"hi\"\"", to: "audience:oncall"))
        #expect(response.status == 200 && response.contentType == "application/json")
        #expect(response.text == #"{"accepted":40,"skipped":0,"failed":0}"#)
        let words = gateway.timeline.words
        #expect(words.first == "recorded" && words.count { $0 == "recorded" } == 1)
        #expect(words.dropFirst().prefix(40).allSatisfy { $0 == "exchanged" })
        #expect(words.suffix(40).allSatisfy { $0 == "outcome" } && words.count == 81)
        #expect(gateway.journal.records(.intent).map(\.facts?.recipient?.text) == members)
        let facts = try #require(gateway.journal.records(.intent).first?.facts)
        #expect(facts.audience == "oncall" && facts.rule == "send[1]" && facts.bytes == 8 && facts.action == .send)
        #expect(facts.digest != nil)
        expectOutcomes(gateway)
        #expect(
            Set(gateway.backend.requests.map(\.target))
                == Set(members.map { "/api/notifications?pns=apns&to_tag=\($0)" }))
        #expect(Set(gateway.backend.requests.map(\.body)).count == 1)
        #expect(gateway.backend.retryable.allSatisfy { !$0 })
    }

    @Test("An audience send has at most sixteen requests in flight")
    func anAudienceSendHasAtMostSixteenRequestsInFlight() async throws {
        let gate = Gate(opensAt: 16)
        let gateway = gateway(
            (0..<48).map { "user\($0)" },
            answering: { _ in
                await gate.pass()
                return .status(200)
            })
        let response = await gateway.serve(Sample.send(to: "audience:oncall"))
        #expect(try counts(response) == [48, 0, 0])
        #expect(gate.mostAtATime == 16)
        expectOutcomes(gateway)
    }

    @Test("Members whose send does not start in time are recorded as overloaded")
    func membersWhoseSendDoesNotStartInTimeAreRecordedAsOverloaded() async throws {
        let gate = Gate(opensAt: 16)
        let clock = ManualClock()
        let timeline = Timeline()
        let journal = MemoryJournal(timeline: timeline)
        let backend = ScriptedBackend(timeline: timeline) { _ in
            await gate.pass { clock.advance(by: .seconds(55)) }
            return .status(200)
        }
        var rules = TestGateway.rules(clock: clock)
        rules.limiter = Limiter([], clocks: clock.clocks)
        rules.policy.send = [.init(from: .anyUser, to: .audience(Self.oncall))]
        rules.policy.audiences = [Self.oncall: (0..<20).map { UserName(canonical: "user\($0)")! }]
        let gateway = Gateway(
            rules: rules,
            dependencies: TestGateway.dependencies(
                clock: clock, ledger: ScriptedLedger(), journal: journal, backend: backend))
        let response = await gateway.serve(Sample.send(to: "audience:oncall"))
        #expect(try counts(response) == [16, 0, 4])
        #expect(backend.requests.count == 16)
        let results = journal.records(.outcome).map(\.result)
        #expect(results.count { $0 == "accepted" } == 16 && results.count { $0 == "overloaded" } == 4)
    }

    @Test("A sender limit counts each member, or rejects the whole send")
    func aSenderLimitCountsEachMember() async throws {
        let limits = [
            Limit(name: "calls", per: [.user], count: 3, period: .seconds(60)),
            Limit(name: "sends", per: [.sender], count: 5, period: .seconds(60)),
        ]
        let gateway = gateway(["bob", "carol", "eve"], limits: limits)
        #expect(try counts(await gateway.serve(Sample.send(to: "audience:oncall"))) == [3, 0, 0])
        // Two sends are left. The rejected send takes neither them nor the third call.
        let refused = await gateway.serve(Sample.send(to: "audience:oncall"))
        #expect(refused.code == .rateLimited && refused.text.contains("\"sends\""))
        #expect(refused.values("Retry-After") == ["12"])
        for _ in 0..<2 { #expect(await gateway.serve(Sample.send()).status == 200) }
        #expect(await gateway.serve(Sample.send()).code == .rateLimited)
        #expect(gateway.journal.records(.intent).count == 5)
        #expect(gateway.journal.records(.rejection).first?.facts?.audience == "oncall")
    }

    @Test("A member whose recipient limit is exhausted is skipped, with a recorded rejection")
    func exhaustedRecipientsAreSkipped() async throws {
        let limits = [
            Limit(name: "sends", per: [.sender], count: 100, period: .seconds(60)),
            Limit(name: "pair", per: [.sender, .recipient], count: 2, period: .seconds(60)),
            Limit(name: "inbox", per: [.recipient], count: 3, period: .seconds(60)),
        ]
        let gateway = gateway(["bob", "carol"], limits: limits)
        for _ in 0..<2 { #expect(await gateway.serve(Sample.send()).status == 200) }
        #expect(await gateway.serve(Sample.send(as: "eve")).status == 200)
        let response = await gateway.serve(Sample.send(to: "audience:oncall"))
        #expect(response.text == #"{"accepted":1,"skipped":1,"failed":0}"#)
        let rejection = try #require(gateway.journal.records(.rejection).first)
        #expect(rejection.result == "rate-limited" && rejection.facts?.recipient?.text == "bob")
        #expect(rejection.facts?.audience == "oncall" && rejection.facts?.user?.text == "alice")
        // The rejection is written together with the intents, before any send.
        let batches = gateway.timeline.events.compactMap {
            if case .recorded(let records) = $0 { records } else { nil }
        }
        #expect(batches.last?.map(\.kind) == [.intent, .rejection])
        #expect(gateway.backend.requests.last?.target.hasSuffix("to_tag=carol") == true)
        #expect(gateway.journal.records(.outcome).count == gateway.journal.records(.intent).count)
    }

    @Test("An audience send that reaches no member gets 502")
    func anAudienceSendThatReachesNoMemberGets502() async throws {
        let inbox = Limit(name: "inbox", per: [.recipient], count: 1, period: .seconds(60))
        let skipping = gateway(["bob"], limits: [inbox])
        #expect(await skipping.serve(Sample.send()).status == 200)
        let failing = gateway(["bob", "carol"], answering: { _ in .status(500, "s3ntinel") })
        for (gateway, expected) in [(skipping, [0, 1, 0]), (failing, [0, 0, 2])] as [(TestGateway, [Int64])] {
            let response = await gateway.serve(Sample.send(to: "audience:oncall"))
            #expect(response.status == 502 && response.code == .backendFailed)
            #expect(try counts(response) == expected)
            #expect(!response.text.contains("s3ntinel"))
            expectOutcomes(gateway)
        }
    }

    /// Every backend result that a send can have, one for each member.
    @Test("Each member's result is counted and recorded") func eachMembersResultIsCountedAndRecorded() async throws {
        let ends: [String: (BackendResult, String)] = [
            "user0": (.status(200), "accepted"), "user1": (.status(503), "backend-failed"),
            "user2": (.timedOut, "backend-timed-out"), "user3": (.broken("x"), "backend-failed"),
            "user4": (.unreachable("x"), "backend-unreachable"), "user5": (.gatewayStopped, "unknown-at-stop"),
            "user6": (.overloaded, "overloaded"), "user7": (.status(204), "accepted"),
        ]
        let gateway = gateway(
            ends.keys.sorted(),
            answering: { request in
                ends[request.query?.last?.value ?? ""]?.0 ?? .status(400)
            })
        #expect(try counts(await gateway.serve(Sample.send(to: "audience:oncall"))) == [2, 0, 6])
        expectOutcomes(gateway)
        for record in gateway.journal.records(.outcome) {
            #expect(record.result == ends[record.facts?.recipient?.text ?? ""]?.1)
        }
        #expect(gateway.backend.requests.count == 8)
    }

    @Test("Only a rule that names the audience allows a send to it")
    func onlyARuleThatNamesTheAudienceAllowsASendToIt() async {
        // `*` stands for any single user, and eve is not in the group.
        await gateway(["bob"]).expect(.sendNotAllowed, for: Sample.send(to: "audience:oncall", as: "eve"))
        await gateway(["bob"]).expect(.sendNotAllowed, for: Sample.send(to: "audience:others"))
        let unnamed = gateway(["bob"]) { $0.policy.send = [.init(from: .anyUser, to: .anyUser)] }
        await unnamed.expect(.sendNotAllowed, for: Sample.send(to: "audience:oncall"))
        #expect(unnamed.journal.records(.rejection).first?.facts?.audience == "oncall")
        #expect(await gateway(["bob"]).serve(Sample.send(to: "AUDIENCE%3AOnCall")).status == 200)
        // A rule for an audience allows no send to one of its members.
        await gateway(["bob"]) { $0.policy.send.removeFirst() }.expect(.sendNotAllowed, for: Sample.send())
    }

    @Test("A shadow policy allows sends to existing audiences only")
    func aShadowPolicyAllowsSendsToExistingAudiencesOnly() async throws {
        let trial = gateway(["bob"]) { rules in
            rules.policy.isEnforced = false
            rules.policy.send = []
        }
        #expect(await trial.serve(Sample.send(to: "audience:oncall")).status == 200)
        #expect(trial.journal.records(.intent).map(\.facts?.rule) == ["would-refuse"])
        await gateway(["bob"]) { $0.policy.isEnforced = false }.expect(
            .sendNotAllowed, for: Sample.send(to: "audience:others"))
    }

    @Test(
        "An invalid audience name is rejected",
        arguments: [
            "audience:", "audience:a b", "audience:a%7C%7Cusername:carol", "audience:*", "audience:oncall,x",
            "audience:audience:oncall", "audience:\(String(repeating: "x", count: 65))", "%20audience:oncall",
            "audience%C5%BF:x", "audience:%C3%A9",
        ])
    func anInvalidAudienceNameIsRejected(_ recipient: String) async {
        for escaping in NameRules.Escaping.allCases {
            let response = await gateway(["bob"]) { $0.names = NameRules(escaping: escaping) }
                .serve(Sample.send(to: recipient))
            // With escaping, a text that names no audience may be the name of a user.
            if escaping == .refuse || recipient.hasPrefix("audience:") { #expect(response.code == .malformedRequest) }
        }
    }

    @Test("An audience send that cannot be recorded, is too long or is malformed is rejected")
    func invalidAudienceSendsAreRejected() async {
        let gateway = gateway(["bob", "carol"])
        gateway.journal.fail(JournalUnavailable("disk full"))
        await gateway.expect(.journalUnavailable, for: Sample.send(to: "audience:oncall"))
        gateway.journal.fail(nil)
        await gateway.expect(
            .payloadTooLarge,
            for: Sample.send("\"\(String(repeating: "x", count: 5000))\"", to: "audience:oncall"))
        await gateway.expect(.malformedMessage, for: Sample.send("hi", to: "audience:oncall"))
    }
}

/// A gate that opens once a number of callers wait, and records the highest number inside at a time.
private final class Gate: Sendable {
    private struct State {
        var waiting: [CheckedContinuation<Void, Never>] = []
        var inside = 0
        var most = 0
    }

    private let size: Int
    private let state = Mutex(State())

    init(opensAt size: Int) { self.size = size }

    var mostAtATime: Int { state.withLock(\.most) }

    /// Waits until the gate opens. The last caller runs `opening` first.
    func pass(_ opening: @Sendable () -> Void = {}) async {
        await withCheckedContinuation { continuation in
            let passed = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                state.inside += 1
                state.most = max(state.most, state.inside)
                state.waiting.append(continuation)
                guard state.waiting.count == size else { return [] }
                defer { state.waiting = [] }
                return state.waiting
            }
            if !passed.isEmpty { opening() }
            for continuation in passed { continuation.resume() }
        }
        state.withLock { $0.inside -= 1 }
    }
}
