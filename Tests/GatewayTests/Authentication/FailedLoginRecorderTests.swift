import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import Testing

@testable import Gateway

/// An authenticator of tokens such as `expired.alice`, whose signatures are valid, and of no password.
struct SigningAuthenticator: InspectingAuthenticator {
    private func parts(_ token: Secret) -> [String] {
        token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }.split(separator: ".").map(String.init)
    }

    func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? {
        guard case .bearer(let token) = credential else { return .rejected(.wrong) }
        let parts = parts(token)
        guard parts.count == 2, let user = UserName(canonical: parts[1]) else { return .rejected(.untrusted) }
        switch parts[0] {
        case "valid": return .accepted(Identity(user: user, authenticator: "signing"))
        case let word: return .rejected(InvalidCredentialReason(rawValue: word) ?? .untrusted)
        }
    }

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        immediateOutcome(on: credential, from: peer) ?? .notMine
    }

    func user(ofRejected token: Secret) -> UserName? {
        let parts = parts(token)
        return parts.count == 2 ? UserName(canonical: parts[1]) : nil
    }

    func inspect(_ token: Secret) async -> TokenInspection? { nil }
}

@Suite("Journal records of failed logins")
struct FailedLoginRecorderTests {
    private let asked = CountingAuthenticator(["alice": "good", "bob": "good"])

    private func results(_ gateway: TestGateway) -> [String] {
        gateway.journal.records(.rejection).compactMap(\.result)
    }

    @Test("An unknown user and a wrong password leave the same record with name, address, authenticator and reason")
    func alike() async throws {
        let gateway = TestGateway(asking: asked)
        for user in ["alice", "nobody"] { #expect(await gateway.login(user, "wrong", from: .v4(7)) == 401) }
        let records = gateway.journal.records(.rejection)
        #expect(records.map(\.result) == ["login-failed", "login-failed"])
        #expect(records.map(\.facts?.attempted?.text) == ["alice", "nobody"])
        for record in records {
            #expect(record.facts?.user == nil && record.facts?.peer == .v4(7) && record.count == nil)
            #expect(record.facts?.authenticator == "asked" && record.reason == "wrong")
        }
        // A cached rejection records the same authenticator.
        gateway.clock.advance(by: .seconds(61))
        gateway.gateway.flushRejections()
        #expect(await gateway.login("alice", "wrong", from: .v4(7)) == 401)
        #expect(gateway.journal.records(.rejection).last?.facts?.authenticator == "asked")
    }

    @Test("A bad token and malformed credentials leave a record without a name")
    func others() async {
        let gateway = TestGateway()
        for field in ["Bearer nobodys-token", "Basic !!!"] {
            let peer = Peer.v4(UInt32(field.count))
            let request = ReceivedRequest("GET /auth/whoami", authorization: .text(field), peer: peer)
            #expect(await gateway.serve(request).status == 401)
        }
        #expect(results(gateway) == ["login-failed", "login-failed"])
        #expect(gateway.journal.records(.rejection).allSatisfy { $0.facts?.attempted == nil })
        // A request without credentials leaves no record.
        _ = await gateway.serve(ReceivedRequest("GET /auth/whoami"))
        #expect(results(gateway).count == 2)
    }

    @Test("Failures for one name from one address are coalesced into one record a minute with their count")
    func coalesced() async {
        let gateway = TestGateway(asking: asked)
        for number in 0..<5 { #expect(await gateway.login("alice", "wrong \(number)", from: .v4(7)) == 401) }
        #expect(await gateway.login("alice", "wrong", from: .v4(8)) == 401)
        #expect(gateway.journal.records(.rejection).map(\.count) == [nil, nil])
        gateway.clock.advance(by: .seconds(60))
        gateway.gateway.flushRejections()
        #expect(gateway.journal.records(.rejection).map(\.count) == [nil, nil, 4])
    }

    @Test("An expired token beside wrong ones of its address has a record of its own, which names its user")
    func reasons() async throws {
        let tokens = SigningAuthenticator()
        let gateway = TestGateway(asking: tokens, credentialKinds: [.bearer, .password])
        func present(_ token: String) async {
            let request = ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer \(token)"), peer: .v4(7))
            #expect(await gateway.serve(request).status == 401)
        }
        for _ in 0..<25 { await present("garbage") }
        await present("expired.alice")
        await present("expired.bob")
        await present("expired.alice")
        #expect(await gateway.login("alice", "wrong", from: .v4(7)) == 401)
        gateway.clock.advance(by: .seconds(60))
        gateway.gateway.flushRejections()
        let records = gateway.journal.records(.rejection).map {
            "\($0.facts?.attempted?.text ?? "-") \($0.reason ?? "-") \($0.count ?? 1)"
        }
        #expect(
            records.sorted() == [
                "- untrusted 1", "- untrusted 24", "alice expired 1", "alice expired 1", "alice wrong 1",
                "bob expired 1",
            ])
    }

    @Test("At the level debug each failed login has its own line")
    func debugLines() {
        let clock = ManualClock()
        let throttle = LoginThrottle(clocks: clock.clocks)
        let recorder = LogRecorder()
        func lines(at level: Logger.Level) -> Int {
            var logger = recorder.logger
            logger.logLevel = level
            let responder = RejectionResponder(
                challenges: [], recording: RejectionRecorder(journal: MemoryJournal(), clocks: clock.clocks),
                logins: FailedLoginRecorder(
                    journal: MemoryJournal(), clocks: clock.clocks, throttle: throttle, names: NameRules()),
                log: RejectionLog(clocks: clock.clocks), logger: logger)
            let before = recorder.lines.count
            for number in 0..<20 as Range<UInt64> {
                let call = CallID(process: 1, number: number)
                var facts = CallFacts(call: call, peer: .v4(7))
                facts.attempted = PresentedName("alice")
                _ = responder.response(Rejection(.credentialsRejected, "wrong").with(facts), of: call)
            }
            let added = recorder.lines[before...]
            #expect(added.allSatisfy { $0.metadata["attempted"] == "alice" })
            return Set(added.compactMap { $0.metadata["call"] }).count
        }
        #expect(lines(at: .info) == 1)
        #expect(lines(at: .debug) == 20)
    }

    @Test("A flood of failed logins writes at most 120 records a minute and one for the rest")
    func flood() {
        let (journal, clock) = (MemoryJournal(), ManualClock())
        let logins = FailedLoginRecorder(
            journal: journal, clocks: clock.clocks, throttle: LoginThrottle(clocks: clock.clocks), names: NameRules())
        let logger = LogRecorder().logger
        for number in 0..<100_000 as Range<UInt64> {
            var facts = CallFacts(call: CallID(process: 1, number: number), peer: .v4(UInt32(number % 5000)))
            facts.attempted = PresentedName("user\(number)" + String(repeating: "x", count: 500))
            #expect(logins.record(Rejection(.credentialsRejected, "wrong").with(facts), logger))
        }
        // Records with another result are not among the rest. The throttle knows of no ban, so this one ends at once.
        for rejection in [
            Rejection(.rateLimited, "", extra: .limit(name: "login-pair", retryAfterSeconds: 30)),
            Rejection(.authenticatorUnavailable, "timed-out"),
        ] {
            var facts = CallFacts(call: CallID(process: 1, number: 100_000), peer: .v4(1))
            facts.attempted = PresentedName("bob")
            _ = logins.record(rejection.with(facts), logger)
        }
        logins.flush(all: true, logger)
        let records = journal.records(.rejection)
        #expect(records.count <= FailedLoginRecorder.maximumPerMinute + 5)
        #expect(records.reduce(0) { $0 + ($1.count ?? 1) } == 100_003)
        #expect(records.contains { $0.result == "several" })
        for result in ["banned", "ban-ended", "login-undecided"] {
            #expect(records.filter { $0.result == result }.map { $0.facts?.attempted?.text } == ["bob"], "\(result)")
        }
    }

    @Test("The start of a ban is one record, and its end is another with the number of rejections")
    func bans() async throws {
        let gateway = TestGateway(asking: asked)
        for number in 0..<10 { #expect(await gateway.login("alice", "wrong \(number)", from: .v4(7)) == 401) }
        for number in 0..<5 { #expect(await gateway.login("alice", "more \(number)", from: .v4(7)) == 429) }
        #expect(results(gateway).filter { $0 == "banned" }.count == 1)
        let ban = try #require(gateway.journal.records(.rejection).first { $0.result == "banned" })
        #expect(ban.facts?.rule == "login-pair" && ban.facts?.attempted?.text == "alice" && ban.reason == "30 s")
        // The wait is over, but the ban lasts for another attempt within a minute.
        gateway.clock.advance(by: .seconds(31))
        gateway.gateway.flushRejections()
        #expect(!results(gateway).contains("ban-ended"))
        gateway.clock.advance(by: .seconds(30))
        gateway.gateway.flushRejections()
        let end = try #require(gateway.journal.records(.rejection).last { $0.result == "ban-ended" })
        #expect(end.facts?.rule == "login-pair" && end.facts?.peer == .v4(7) && end.reason == "5 rejected")
        gateway.clock.advance(by: .seconds(600))
        gateway.gateway.flushRejections()
        #expect(results(gateway).filter { $0 == "ban-ended" }.count == 1)
    }

    @Test("Lifting a ban records its end")
    func lifted() async {
        let gateway = TestGateway(asking: asked)
        for number in 0..<12 { _ = await gateway.login("alice", "wrong \(number)", from: .v4(7)) }
        gateway.gateway.flushRejections()
        #expect(results(gateway).contains("banned") && !results(gateway).contains("ban-ended"))
        gateway.gateway.throttle.lift(user: .test("alice"))
        gateway.gateway.flushRejections()
        #expect(results(gateway).contains("ban-ended"))
    }

    @Test("The record is written after the delay, together with the response")
    func delayed() async {
        let gateway = TestGateway(asking: asked) { $0.authentication = AuthenticationRules() }
        async let status = gateway.login("alice", "wrong")
        await gateway.scheduler.untilWaiting(1)
        #expect(gateway.journal.records(.rejection).isEmpty)
        gateway.scheduler.advance(by: .milliseconds(385))
        #expect(await status == 401)
        #expect(results(gateway) == ["login-failed"])
    }

    @Test("A failed login that exceeds the limit of waiting ones is recorded")
    func crowded() async {
        let gateway = TestGateway(asking: asked) {
            $0.authentication = AuthenticationRules(maximumDelayedRejections: 0)
        }
        #expect(await gateway.login("alice", "wrong") == 429)
        #expect(results(gateway) == ["login-failed"])
        #expect(gateway.journal.records(.rejection).first?.reason == "wrong")
    }

    @Test("A presented name is truncated and its control characters are replaced")
    func sanitized() {
        let sanitized = FailedLoginRecorder.sanitized("bob\n\u{1B}[2J\u{202E}evil\u{2028}")
        #expect(sanitized == "bob\u{FFFD}\u{FFFD}[2J\u{FFFD}evil\u{FFFD}")
        #expect(FailedLoginRecorder.sanitized(String(repeating: "x", count: 8000)).utf8.count == 64)
        #expect(FailedLoginRecorder.sanitized(String(repeating: "é", count: 8000)).utf8.count == 64)
        #expect(FailedLoginRecorder.sanitized(String(repeating: "€", count: 8000)).utf8.count == 63)
    }
}
