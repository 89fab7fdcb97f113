import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite struct SendTests {
    @Test("A full queue of the journal gets overloaded") func aFullQueueOfTheJournalGetsOverloaded() async {
        let gateway = TestGateway()
        gateway.journal.fail(JournalUnavailable("too many", isFull: true))
        let response = await gateway.expect(.overloaded, for: Sample.send())
        #expect(response.values("Retry-After") == ["1"])
        #expect(gateway.backend.requests.isEmpty)
    }

    @Test("The intent is recorded before the backend receives the send")
    func theIntentIsRecordedBeforeTheBackendReceivesTheSend() async throws {
        let gateway = TestGateway()
        #expect(await gateway.serve(Sample.send("\"say \"hi\"\"")).withoutLimits == Response(status: 200))
        #expect(gateway.timeline.words == ["recorded", "exchanged", "outcome"])
        #expect(gateway.backend.retryable == [false])
        let intent = try #require(gateway.journal.records(.intent).first?.facts)
        #expect(intent.user?.text == "alice" && intent.recipient?.text == "bob" && intent.pns == .apns)
        #expect(
            intent.action == .send && intent.bytes == 8 && intent.rule == "send[0]" && intent.authenticator == "fixed")
        #expect(intent.attempted == nil)
        let expected = KeyedDigester(key: Secret(Array(repeating: 7, count: 32)))
            .digest(ofTexts: "alice", "say \"hi\"")
        #expect(intent.digest == expected)
        let outcome = try #require(gateway.journal.records(.outcome).first)
        #expect(outcome.facts == intent)
        #expect(outcome.result == "accepted" && outcome.status == 200 && outcome.milliseconds == 0)
        let request = try #require(gateway.backend.requests.first)
        #expect(request.target == "/api/notifications?pns=apns&to_tag=bob")
        #expect(String(decoding: request.body, as: UTF8.self) == "\"say \\\\\\\"hi\\\\\\\"\"")
        // The record does not contain the message text.
        #expect(!"\(gateway.journal.records)".contains("say"))
    }

    @Test("Equal texts have equal digests only if one user sent them") func digestsBySender() async throws {
        let gateway = TestGateway()
        for (sender, text) in [("alice", "hi"), ("alice", "hi"), ("carol", "hi"), ("alice", "ho")] {
            #expect(await gateway.serve(Sample.send("\"\(text)\"", as: sender)).status == 200)
        }
        let digests = gateway.journal.records(.intent).compactMap { $0.facts?.digest }
        try #require(digests.count == 4)
        #expect(digests[0] == digests[1] && digests[0] != digests[2] && digests[0] != digests[3])
    }

    @Test("A send that cannot be recorded is rejected") func aSendThatCannotBeRecordedIsRejected() async {
        let gateway = TestGateway()
        gateway.journal.fail(JournalUnavailable("disk full"))
        let response = await gateway.expect(.journalUnavailable, for: Sample.send())
        #expect(response.status == 503 && response.values("Retry-After") == ["5"])
        #expect(!response.text.contains("disk"))
        #expect(gateway.timeline.words == ["record-refused", "refusal"])
        gateway.journal.fail(nil)
        #expect(await gateway.serve(Sample.send()).status == 200)
    }

    /// Every result of the first exchange, for every call. The test checks the response and the single outcome.
    @Test(
        "A failed exchange has one rejection code and one outcome",
        arguments: [
            (BackendResult.unreachable("refused"), RejectionCode.backendUnreachable, "backend-unreachable", Int?.none),
            (.broken("reset"), .backendFailed, "backend-failed", nil),
            (.timedOut, .backendTimedOut, "backend-timed-out", nil),
            (.gatewayStopped, .backendFailed, "unknown-at-stop", nil),
            (.overloaded, .overloaded, "overloaded", nil), (.status(401), .backendFailed, "backend-failed", 401),
            (.status(302), .backendFailed, "backend-failed", 302),
            (.status(503, "s3ntinel"), .backendFailed, "backend-failed", 503),
        ])
    func endsOfTheBackend(_ end: BackendResult, _ code: RejectionCode, _ word: String, _ status: Int?) async throws {
        for (request, decision) in [
            (Sample.send(), LedgerDecision.notOwned), (Sample.create, .queryWithHandle),
            (Sample.put(), .own(Sample.other)),
            (Sample.put(), .notRegistered), (Sample.delete, .owned(Sample.other)),
        ] {
            let gateway = TestGateway(deciding: { _ in decision })
            gateway.backend.queue(end)
            let response = await gateway.serve(request)
            #expect(response.code == code && response.status == code.status)
            #expect(
                !response.text.contains("s3ntinel") && !response.text.contains("reset")
                    && !response.text.contains("refused\""))
            #expect(response.values("Retry-After") == (code == .overloaded ? ["1"] : []))
            #expect(gateway.backend.requests.count == 1)
            #expect(gateway.journal.records(.intent).count == 1)
            #expect(gateway.journal.records(.outcome).map(\.result) == [word])
            #expect(gateway.journal.records(.outcome).map(\.status) == [status])
            #expect(gateway.journal.records(.rejection).isEmpty)
            #expect(gateway.ledger.openClaims == 0)
            // Only these results prove that the backend did not act.
            let isProof = [.backendUnreachable, .overloaded].contains(code) || status == 401
            let changes: [LedgerChange] =
                switch decision {
                case .owned: [isProof ? .deleting(Sample.other) : .deletionUnanswered(Sample.other)]
                case .own where !isProof: [.unresolved(Sample.other)]
                default: []
                }
            #expect(gateway.ledger.changes == changes)
        }
    }

    /// After the first step the backend may have acted, so no result maps to unreachable or overloaded.
    @Test("A failed later step gets backend-failed or backend-timed-out") func endsOfLaterSteps() async {
        let undone = LedgerChange.undone(RegistrationAttempt(id: Sample.other, undo: .remove))
        let unresolved = LedgerChange.unresolved(Sample.other)
        for (end, code, change) in [
            (BackendResult.unreachable("x"), RejectionCode.backendFailed, undone),
            (.overloaded, .backendFailed, undone),
            (.broken("x"), .backendFailed, unresolved),
            (.timedOut, .backendTimedOut, unresolved), (.gatewayStopped, .backendFailed, unresolved),
        ] {
            let gateway = TestGateway()
            gateway.backend.queue(.status(200, "\"11-22-3\""), end)
            #expect(await gateway.serve(Sample.put()).code == code)
            #expect(gateway.backend.requests.count == 2)
            #expect(gateway.journal.records(.outcome).count == 1)
            #expect(gateway.ledger.changes == [change])
        }
    }

    @Test("A send is never sent twice") func aSendIsNeverSentTwice() async {
        for status in [404, 410, 500, 502, 503, 429] {
            let gateway = TestGateway(answering: { _ in .status(status) })
            #expect(await gateway.serve(Sample.send()).code == .backendFailed)
            #expect(gateway.backend.requests.count == 1)
        }
    }

    @Test("A successful send gets 200") func aSuccessfulSendGets200() async {
        for status in [200, 201, 202, 204] {
            let gateway = TestGateway(answering: { _ in .status(status, "text of the backend's own") })
            #expect(await gateway.serve(Sample.send()).withoutLimits == Response(status: 200))
        }
    }

    @Test("The outcome records the time that the backend took")
    func theOutcomeRecordsTheTimeThatTheBackendTook() async {
        let clock = ManualClock()
        let timeline = Timeline()
        let journal = MemoryJournal(timeline: timeline)
        let backend = ScriptedBackend(timeline: timeline) { _ in
            clock.advance(by: .milliseconds(1234))
            return .status(200)
        }
        let gateway = Gateway(
            rules: TestGateway.rules(clock: clock),
            dependencies: TestGateway.dependencies(
                clock: clock, ledger: ScriptedLedger(), journal: journal, backend: backend))
        _ = await gateway.serve(Sample.send())
        #expect(journal.records(.outcome).first?.milliseconds == 1234)
    }

    /// The bodies that tutorial clients write, and the texts that the recipient's device shows.
    @Test(
        "A message arrives unchanged on the device",
        arguments: [
            ("\"He said \"hi\" – café\"", "apns", "He said \"hi\" – café"),
            ("\"C:\\windows & <b>\"", "wns", "C:\\windows & <b>"),
            ("\"C:\\x\"", "gcm", "C:\\x"), ("\"\"},\"badge\":1,{\"\"", "apns", "\"},\"badge\":1,{\""),
            ("\"</text><text>\"", "wns", "</text><text>"), ("\"a\\nb\"", "gcm", "a\nb"),
        ])
    func aMessageArrivesUnchangedOnTheDevice(_ body: String, _ pns: String, _ text: String) async throws {
        for profile in BackendProfile.BuiltIn.allCases {
            let gateway = TestGateway(profile)
            #expect(await gateway.serve(Sample.send(body, pns: pns)).status == 200)
            let request = try #require(gateway.backend.requests.first)
            let decoded = try #require(try JSONParser().parse(request.body.span).string)
            for (service, before, after) in PastedPayload.frames where service == Platform(word: pns)?.service {
                let payload = before + "From alice: " + decoded + after
                #expect(DevicePayload.text(in: payload) == "From alice: \(text)")
            }
        }
    }

    @Test("Rejections are recorded only for authenticated users and failed logins")
    func whichRejectionsAreRecorded() async {
        let gateway = TestGateway()
        _ = await gateway.serve(ReceivedRequest("GET /nothing", as: "alice"))
        _ = await gateway.serve(Sample.send(to: "x%7C%7C!y"))
        var request = Sample.send()
        request.authorization = .basic("alice", "wrong")
        _ = await gateway.serve(request)
        #expect(gateway.journal.records.map(\.result) == ["login-failed"])
        #expect(gateway.journal.records.first?.facts?.user == nil)
        _ = await gateway.serve(Sample.delete)
        #expect(gateway.journal.records.map(\.kind) == [.rejection, .rejection])
        #expect(gateway.journal.records.last?.facts?.user?.text == "alice")
    }
}
