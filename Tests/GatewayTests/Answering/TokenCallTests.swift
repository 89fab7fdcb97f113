import GatewayCore
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

@Suite("Tokens and sessions")
struct TokenCallTests {
    /// A gateway whose users have the passwords of `TestGateway`, and the issuer behind it.
    private final class Bench: Sendable {
        let clock = ManualClock()
        let timeline = Timeline()
        let journal: MemoryJournal
        let sessions: MemorySessions
        let issuer: TestIssuer
        let backend: ScriptedBackend
        let ledger: ScriptedLedger
        let gateway: Gateway

        init(
            deciding decide: @escaping @Sendable (LedgerRequest) -> LedgerDecision = ScriptedLedger.knowsNothing,
            answering answer: @escaping @Sendable (SeenRequest) async -> BackendAnswer = ScriptedBackend.isContent
        ) {
            journal = MemoryJournal(timeline: timeline)
            sessions = MemorySessions(clock: clock)
            issuer = TestIssuer(revocations: sessions)
            backend = ScriptedBackend(timeline: timeline, answering: answer)
            ledger = ScriptedLedger(timeline: timeline, deciding: decide)
            var rules = TestGateway.rules(clock: clock)
            let passwords = FixedAuthenticator(
                passwords: Dictionary(
                    uniqueKeysWithValues: TestGateway.users.map { ($0, TestGateway.password(of: $0)) }),
                groups: ["alice": [GroupName("dispatch")!]])
            rules.authenticators = AuthenticatorChain([
                .init(name: FixedAuthenticator.name, takes: [.password], authenticator: passwords),
                .init(name: TestIssuer.name, takes: [.bearer], authenticator: issuer),
            ])
            var ports = TestGateway.ports(
                clock: clock, ledger: ledger, sessions: sessions, journal: journal, backend: backend)
            ports.randomness = Counter().next
            gateway = Gateway(rules: rules, ports: ports)
        }

        /// Ids of sessions must differ.
        private final class Counter: Sendable {
            private let number = Atomic<UInt64>(0)

            @Sendable func next() -> UInt64 { number.add(1, ordering: .relaxed).newValue }
        }

        func call(_ line: String, as user: String? = nil, token: String? = nil, body: String = "") async -> Answer {
            let field = token.map { ReceivedRequest.FieldValue.text("Bearer \($0)") }
            return await gateway.serve(
                ReceivedRequest(
                    line, as: user, authorization: field,
                    contentType: body.isEmpty ? .absent : .text("application/json"), body: Array(body.utf8)))
        }

        /// The session of a fresh token.
        func login(_ user: String = "alice", device: String? = nil) async throws -> SessionID {
            let body = device.map { "{\"device\":\"\($0)\"}" } ?? ""
            let answer = await call("POST /auth/token", as: user, body: body)
            return try #require(answer.json?["session"]?.string.flatMap(SessionID.init))
        }
    }

    @Test("A password is exchanged for a token, which is recorded before, and nobody keeps the answer")
    func exchange() async throws {
        let bench = Bench()
        let answer = await bench.call("POST /auth/token", as: "alice", body: #"{"device":"Alice's phone","x":1}"#)
        #expect(answer.status == 200)
        #expect(answer.values("Cache-Control") == ["no-store"])
        let json = try #require(answer.json)
        #expect(json["access_token"]?.string == "token-1")
        #expect(json["token_type"]?.string == "Bearer")
        #expect(json["expires_in"]?.integer == 3600)
        let session = try #require(json["session"]?.string.flatMap(SessionID.init).flatMap(bench.sessions.session))
        #expect(session.device?.text == "Alice's phone")
        #expect(session.login == LoginName("alice"))
        #expect(session.authenticator == FixedAuthenticator.name)
        #expect(session.ends.seconds - session.began.seconds == 86_400)
        #expect(bench.journal.records.map(\.kind) == [.intent, .outcome])
        #expect(bench.journal.records.map(\.facts?.action) == [.tokenIssue, .tokenIssue])
        #expect(bench.journal.records[1].facts?.session == session.id)
        #expect(bench.journal.records[1].result == "accepted")
        #expect(bench.backend.requests.isEmpty)
        let who = await bench.call("GET /auth/whoami", token: "token-1")
        #expect(who.json?["user"]?.string == "alice")
        #expect(who.json?["groups"] == .array([.string("dispatch")]))
    }

    @Test("A token of a session is exchanged for the next, in the groups that the account has now")
    func renewal() async throws {
        let bench = Bench()
        _ = try await bench.login()
        // Nobody can say how the account stands: the token's word holds.
        let again = await bench.call("POST /auth/token", token: "token-1")
        #expect(again.json?["access_token"]?.string == "token-2")
        let who = await bench.call("GET /auth/whoami", token: "token-2")
        #expect(who.json?["groups"] == .array([.string("dispatch")]))
        // The former token is as good as before, until its end.
        #expect(await bench.call("GET /auth/whoami", token: "token-1").status == 200)
        #expect(bench.sessions.sessions(of: UserName(canonical: "alice")!).count == 1)
    }

    @Test("A session is renewed only while its account is good")
    func standing() async throws {
        let clock = ManualClock()
        let sessions = MemorySessions(clock: clock)
        let issuer = TestIssuer(revocations: sessions)
        var rules = TestGateway.rules(clock: clock)
        rules.authenticators = AuthenticatorChain([
            .init(
                name: TestIssuer.name, takes: [.password, .bearer],
                authenticator: PasswordsToo(issuer: issuer))
        ])
        let journal = MemoryJournal()
        let gateway = Gateway(
            rules: rules,
            ports: TestGateway.ports(
                clock: clock, ledger: ScriptedLedger(), sessions: sessions, journal: journal,
                backend: ScriptedBackend()))
        #expect(await gateway.serve(ReceivedRequest("POST /auth/token", as: "alice")).status == 200)
        let renew = ReceivedRequest("POST /auth/token", authorization: .text("Bearer token-1"))
        issuer.stand(.good(groups: [GroupName("sales")!]))
        #expect(await gateway.serve(renew).status == 200)
        let who = await gateway.serve(ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer token-2")))
        #expect(who.json?["groups"] == .array([.string("sales")]))
        issuer.stand(.unknown(.busy))
        #expect(await gateway.serve(renew).code == .authenticatorUnavailable)
        issuer.stand(.ended(.disabled))
        let refused = await gateway.serve(renew)
        #expect(refused.code == .credentialsRejected)
        #expect(!refused.values("WWW-Authenticate").isEmpty)
        #expect(issuer.asked == Array(repeating: LoginName("alice"), count: 3))
    }

    /// An issuer that takes the passwords of `TestGateway` as well.
    private struct PasswordsToo: TokenIssuer, AccountAuthenticator {
        let issuer: TestIssuer

        var sessionLifetime: Duration { issuer.sessionLifetime }

        func issue(
            for user: UserName, groups: Set<GroupName>, in session: Session, now: WallTime
        ) throws(IssueFault) -> IssuedToken {
            try issuer.issue(for: user, groups: groups, in: session, now: now)
        }

        func standing(of login: LoginName) async -> AccountStanding { await issuer.standing(of: login) }

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
            guard case .password(let login, _) = credential, let user = UserName(canonical: login.text) else {
                return await issuer.authenticate(credential, from: peer)
            }
            return .accepted(Identity(user: user, authenticator: TestIssuer.name))
        }
    }

    @Test("A token of no session is exchanged for nothing, and ends by itself alone")
    func strayToken() async throws {
        let bench = Bench()
        let now = bench.clock.clocks.wall()
        let reference = TokenReference(
            id: "stray", session: nil, issued: now, expires: WallTime(seconds: now.seconds + 60))
        bench.issuer.add(
            "stray", Identity(user: UserName(canonical: "bob")!, authenticator: TestIssuer.name, token: reference))
        _ = try await bench.login("bob")
        #expect(await bench.call("POST /auth/token", token: "stray").code == .credentialsRejected)
        #expect(await bench.call("DELETE /auth/token", token: "stray").status == 204)
        #expect(await bench.call("GET /auth/whoami", token: "stray").code == .credentialsRejected)
        #expect(await bench.call("GET /auth/whoami", token: "token-2").status == 200)
    }

    @Test("Whoever ends a token ends its session, and no other")
    func endToken() async throws {
        let bench = Bench()
        let first = try await bench.login()
        let second = try await bench.login()
        #expect(await bench.call("POST /auth/token", token: "token-1").status == 200)
        #expect(await bench.call("DELETE /auth/token", token: "token-1").status == 204)
        #expect(await bench.call("GET /auth/whoami", token: "token-1").code == .credentialsRejected)
        #expect(await bench.call("GET /auth/whoami", token: "token-3").code == .credentialsRejected)
        #expect(await bench.call("GET /auth/whoami", token: "token-2").status == 200)
        #expect(bench.sessions.session(first) == nil)
        #expect(bench.sessions.session(second) != nil)
        #expect(bench.journal.records(.intent).last?.facts?.session == first)
        #expect(await bench.call("DELETE /auth/token", as: "alice").code == .credentialsRejected)
    }

    @Test("A user sees and ends sessions of its own, and nobody else's")
    func sessions() async throws {
        let bench = Bench()
        let phone = try await bench.login(device: "phone")
        bench.clock.advance(by: .seconds(1))
        let tablet = try await bench.login(device: "tablet")
        let bobs = try await bench.login("bob")
        let list = try #require(await bench.call("GET /auth/sessions", token: "token-1").json?["sessions"])
        guard case .array(let entries) = list else { throw NoList() }
        #expect(entries.map { $0["device"]?.string } == ["tablet", "phone"])
        #expect(entries.map { $0["current"] } == [.bool(false), .bool(true)])
        #expect(entries.map { $0["id"]?.string } == [tablet.text, phone.text])
        // Another's, one that never was and one that has ended answer alike.
        var refusals: [Answer] = []
        for id in [bobs.text, SessionID(random: (99, 99)).text] {
            refusals.append(await bench.call("DELETE /auth/sessions/\(id)", as: "alice"))
        }
        #expect(await bench.call("DELETE /auth/sessions/\(phone)", as: "alice").status == 204)
        refusals.append(await bench.call("DELETE /auth/sessions/\(phone)", as: "alice"))
        #expect(Set(refusals.map(\.withoutLimits)).count == 1)
        #expect(refusals[0].code == .notOwner)
        #expect(await bench.call("GET /auth/whoami", token: "token-1").code == .credentialsRejected)
        #expect(await bench.call("GET /auth/whoami", token: "token-2").status == 200)
        #expect(await bench.call("GET /auth/whoami", token: "token-3").status == 200)
        #expect(await bench.call("DELETE /auth/sessions/..", as: "alice").code == .malformedRequest)
        #expect(await bench.call("DELETE /auth/sessions/x", as: "alice").code == .malformedRequest)
        #expect(await bench.call("GET /auth/sessions/\(tablet)", as: "alice").code == .methodNotAllowed)
    }

    private struct NoList: Error {}

    @Test("A user sees devices of its own that are live, and gives one up by its id")
    func registrations() async throws {
        let bench = Bench(deciding: { request in
            if case .delete(_, let label) = request { .owned(label) } else { .notOwned }
        })
        let (alice, bob) = (UserName(canonical: "alice")!, UserName(canonical: "bob")!)
        func registration(
            _ id: RegistrationID, _ owner: UserName, _ state: OwnedRegistration.State
        ) -> OwnedRegistration {
            OwnedRegistration(
                id: id, owner: owner, service: .apns, state: state, created: WallTime(seconds: 1_795_000_000),
                lastSeen: WallTime(seconds: 1_795_000_060), handOvers: 2)
        }
        bench.ledger.own([
            registration(Sample.label, alice, .live), registration(Sample.other, alice, .deleting),
            registration(Sample.fresh, bob, .live),
        ])
        let list = await bench.call("GET /auth/registrations", as: "alice")
        #expect(
            list.text
                == #"{"registrations":[{"id":"\#(Sample.label)","platform":"apns","#
                + #""created":"2026-11-18T11:06:40.000000Z","last_seen":"2026-11-18T11:07:40.000000Z","hand_overs":2}]}"#
        )
        #expect(bench.journal.records.isEmpty)
        #expect(await bench.call("DELETE /auth/registrations/\(Sample.label)", as: "alice").status == 200)
        #expect(bench.backend.requests.map(\.method) == ["DELETE"])
        #expect(await bench.call("DELETE /auth/registrations/x", as: "alice").code == .malformedRequest)
        #expect(await bench.call("PUT /auth/registrations/\(Sample.label)", as: "alice").code == .methodNotAllowed)
    }

    @Test(
        "Bodies that are none",
        arguments: [
            "[]", "{", "\"x\"", #"{"device":1}"#, #"{"device":""}"#, #"{"device":"a\u0000b"}"#,
            #"{"device":"a","Device":"b"}"#, "{\"device\":\"\(String(repeating: "x", count: 65))\"}",
        ])
    func bodies(body: String) async {
        let bench = Bench()
        #expect(await bench.call("POST /auth/token", as: "alice", body: body).code == .malformedRequest)
        #expect(bench.journal.records(.intent).isEmpty)
    }

    @Test("Where nobody issues tokens there is no such path")
    func noIssuer() async {
        for line in ["POST /auth/token", "DELETE /auth/token", "GET /auth/sessions", "DELETE /auth/sessions/x"] {
            await TestGateway().expect(.noRoute, for: ReceivedRequest(line, as: "alice"))
        }
    }

    @Test("What cannot be recorded is not issued, and what cannot be kept is answered as a failure with one outcome")
    func failures() async throws {
        let bench = Bench()
        bench.journal.refuse(JournalUnavailable("full"))
        #expect(await bench.call("POST /auth/token", as: "alice").code == .journalUnavailable)
        bench.journal.refuse(nil)
        bench.sessions.fail(LedgerUnavailable("gone"))
        #expect(await bench.call("POST /auth/token", as: "alice").code == .internalError)
        #expect(bench.sessions.sessions(of: UserName(canonical: "alice")!).isEmpty)
        bench.sessions.fail(nil)
        bench.issuer.fail(IssueFault("no key", isTemporary: true))
        #expect(await bench.call("POST /auth/token", as: "alice").code == .internalError)
        #expect(bench.journal.records(.outcome).map(\.result) == ["ledger-failed", "not-issued"])
        #expect(bench.journal.records(.intent).count == 2)
    }

    @Test("Whoever is revoked while it registers keeps nothing of it")
    func revokedMeanwhile() async throws {
        let alice = UserName(canonical: "alice")!
        let sessions = Mutex<MemorySessions?>(nil)
        let bench = Bench(
            deciding: { _ in .own(Sample.other) },
            answering: { request in
                sessions.withLock { $0 }?.revoke(alice)
                return await ScriptedBackend.isContent(request)
            })
        sessions.withLock { $0 = bench.sessions }
        let answer = await bench.gateway.serve(Sample.put())
        #expect(answer.code == .credentialsRejected)
        #expect(!answer.values("WWW-Authenticate").isEmpty)
        #expect(try await bench.ledger.doomed(limit: 10) == [Sample.other])
        #expect(bench.journal.records(.outcome).map(\.result) == ["revoked"])
        // Nobody was revoked meanwhile.
        sessions.withLock { $0 = nil }
        #expect(await bench.gateway.serve(Sample.put()).status == 200)
        #expect(try await bench.ledger.doomed(limit: 10) == [Sample.other])
    }

    @Test("What is marked is deleted at the backend in its owner's name, recorded, and kept marked where that fails")
    func sweep() async throws {
        let bob = UserName(canonical: "bob")!
        let bench = Bench(deciding: { request in
            if case .sweep(let id) = request { .doomed(id, owner: bob, because: .revoked) } else { .notOwned }
        })
        let call = CallID(process: 1, number: 1)
        #expect(await bench.gateway.sweep(Sample.other, as: call))
        #expect(bench.backend.requests.map(\.method) == ["DELETE"])
        #expect(bench.journal.records.map(\.kind) == [.intent, .outcome])
        let facts = try #require(bench.journal.records(.outcome).first?.facts)
        #expect(facts.user == bob)
        #expect(facts.registration == Sample.other)
        #expect(facts.rule == "revoked")
        #expect(facts.peer == .gateway)
        #expect(bench.ledger.changes == [.deleted(Sample.other)])
        let spared = Bench(deciding: { _ in .spared })
        #expect(await spared.gateway.sweep(Sample.other, as: call))
        #expect(spared.backend.requests.isEmpty)
        let broken = Bench(
            deciding: { _ in .doomed(Sample.other, owner: bob, because: .surplus) }, answering: { _ in .timedOut })
        #expect(await !broken.gateway.sweep(Sample.other, as: call))
        #expect(broken.ledger.changes == [.deleting(Sample.other)])
        let unrecorded = Bench(deciding: { _ in .doomed(Sample.other, owner: bob, because: .givenUp) })
        unrecorded.journal.refuse(JournalUnavailable("full"))
        #expect(await !unrecorded.gateway.sweep(Sample.other, as: call))
        #expect(unrecorded.backend.requests.isEmpty)
    }
}
