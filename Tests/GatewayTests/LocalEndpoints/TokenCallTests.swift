import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Token endpoints")
struct TokenCallTests {
    @Test("A password is exchanged for a token, with a record before it and no-store in the response")
    func exchange() async throws {
        let bench = TokenFixture()
        let response = await bench.call("POST /auth/token", as: "alice", body: #"{"device":"Alice's phone","x":1}"#)
        #expect(response.status == 200)
        #expect(response.values("Cache-Control") == ["no-store"])
        let json = try #require(response.json)
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

    @Test("A session's token is exchanged for a new one with the account's current groups")
    func renewal() async throws {
        let bench = TokenFixture()
        _ = try await bench.login()
        // No authenticator can report the account's status, so the groups of the token remain.
        let again = await bench.call("POST /auth/token", token: "token-1")
        #expect(again.json?["access_token"]?.string == "token-2")
        let who = await bench.call("GET /auth/whoami", token: "token-2")
        #expect(who.json?["groups"] == .array([.string("dispatch")]))
        // The previous token stays valid until it expires.
        #expect(await bench.call("GET /auth/whoami", token: "token-1").status == 200)
        #expect(bench.sessions.sessions(of: UserName(canonical: "alice")!).count == 1)
    }

    @Test("A login beyond the configured number of sessions names the session that it ended", arguments: [1, 20])
    func replaced(limit: Int) async throws {
        let bench = TokenFixture(adjust: { $0.authentication.sessionsPerUser = limit })
        var sessions: [SessionID] = []
        for number in 0..<limit {
            let response = await bench.call("POST /auth/token", as: "alice", body: #"{"device":"phone \#(number)"}"#)
            #expect(response.status == 200 && response.json?["ended_sessions"] == nil)
            sessions.append(try #require(response.json?["session"]?.string.flatMap(SessionID.init)))
            bench.clock.advance(by: .seconds(1))
        }
        let further = await bench.call("POST /auth/token", as: "alice")
        guard case .array(let ended)? = further.json?["ended_sessions"] else {
            Issue.record("no session is named")
            return
        }
        #expect(ended.map { $0["id"]?.string } == [sessions[0].text])
        #expect(ended.first?["device"]?.string == "phone 0")
        for name in ["began", "renewed", "ends"] { #expect(ended.first?[name]?.string?.hasSuffix("Z") == true) }
        #expect(await bench.call("GET /auth/whoami", token: "token-1").status == 401)
        // An expired session is not one that the login ended.
        bench.clock.advance(by: .seconds(90_000))
        #expect(await bench.call("POST /auth/token", as: "alice").json?["ended_sessions"] == nil)
    }

    @Test("A token of an identity provider begins a session, unless the user was revoked after its issue")
    func providerToken() async throws {
        let bench = TokenFixture()
        let alice = UserName(canonical: "alice")!
        let now = bench.clock.clocks.wall()
        let login = ProviderLogin(issuer: "https://id.example.com", subject: "00u1abc", session: "s1")
        for (text, login) in [("of-provider", login), ("of-operator", nil)] {
            bench.issuer.add(
                text,
                Identity(
                    user: alice, groups: [GroupName("dispatch")!], authenticator: "provider",
                    token: TokenReference(
                        id: text, session: nil, issued: now, expires: WallTime(seconds: now.seconds + 60),
                        provider: login)))
        }
        let response = await bench.call("POST /auth/token", token: "of-provider", body: #"{"device":"phone"}"#)
        #expect(response.status == 200)
        let session = try #require(bench.sessions.sessions(of: alice).first)
        #expect(session.login == LoginName("00u1abc") && session.authenticator == "provider")
        #expect(session.provider == login)
        #expect(session.device?.text == "phone")
        #expect(bench.journal.records.map(\.kind) == [.intent, .outcome])
        #expect(bench.journal.records[1].facts?.session == session.id)
        let token = try #require(response.json?["access_token"]?.string)
        #expect(await bench.call("GET /auth/whoami", token: token).json?["groups"] == .array([.string("dispatch")]))
        // A token without an account proves no login.
        #expect(await bench.call("POST /auth/token", token: "of-operator").status == 401)
        bench.sessions.revoke(alice)
        #expect(await bench.call("GET /auth/whoami", token: token).status == 401)
        #expect(await bench.call("POST /auth/token", token: "of-provider").status == 401)
        #expect(bench.sessions.sessions(of: alice).isEmpty)
    }

    @Test("A session of an account without status ends the configured time after its login")
    func sessionWithoutStatus() async throws {
        let bench = TokenFixture(adjust: { $0.authentication.sessionLifetimeWithoutStatus = .seconds(1800) })
        _ = try await bench.login()
        bench.clock.advance(by: .seconds(1799))
        #expect(await bench.call("POST /auth/token", token: "token-1").status == 200)
        bench.clock.advance(by: .seconds(1))
        #expect(await bench.call("POST /auth/token", token: "token-2").status == 401)
        #expect(bench.sessions.sessions(of: UserName(canonical: "alice")!).isEmpty)
        #expect(AuthenticationRules().sessionLifetimeWithoutStatus == .seconds(86_400))
    }

    @Test(
        "A group that the account loses is removed from its tokens at once; a new group comes with the next token"
    )
    func lostGroup() async throws {
        let bench = TokenFixture()
        let alice = UserName(canonical: "alice")!
        _ = try await bench.login()
        func groups(_ token: String) async -> JSONValue? {
            await bench.call("GET /auth/whoami", token: token).json?["groups"]
        }
        let (dispatch, sales) = (GroupName("dispatch")!, GroupName("sales")!)
        bench.sessions.list([alice: [dispatch, sales]], of: FixedAuthenticator.name)
        #expect(await groups("token-1") == .array([.string("dispatch")]))
        bench.sessions.list([alice: [sales]], of: FixedAuthenticator.name)
        #expect(await groups("token-1") == .array([]))
        // One token belongs to an operator, and one to a name that is in no list.
        let now = bench.clock.clocks.wall()
        for user in ["alice", "service"] {
            bench.issuer.add(
                "of-\(user)",
                Identity(
                    user: UserName(canonical: user)!, groups: [dispatch], authenticator: TestIssuer.name,
                    token: TokenReference(
                        id: user, session: nil, issued: now, expires: WallTime(seconds: now.seconds + 60))))
        }
        #expect(await groups("of-alice") == .array([]))
        #expect(await groups("of-service") == .array([.string("dispatch")]))
        bench.sessions.list([alice: [dispatch]], of: FixedAuthenticator.name)
        #expect(await groups("token-1") == .array([.string("dispatch")]))
    }

    @Test("A session is renewed only while its account is valid")
    func status() async throws {
        let clock = ManualClock()
        let sessions = MemorySessions(clock: clock)
        let issuer = TestIssuer(revocations: sessions)
        var rules = TestGateway.rules(clock: clock)
        rules.authenticators = AuthenticatorChain([
            .init(
                name: TestIssuer.name, credentialKinds: [.password, .bearer],
                authenticator: PasswordsToo(issuer: issuer))
        ])
        let journal = MemoryJournal()
        let gateway = Gateway(
            rules: rules,
            dependencies: TestGateway.dependencies(
                clock: clock, ledger: ScriptedLedger(), sessions: sessions, journal: journal,
                backend: ScriptedBackend()))
        #expect(await gateway.serve(ReceivedRequest("POST /auth/token", as: "alice")).status == 200)
        let renew = ReceivedRequest("POST /auth/token", authorization: .text("Bearer token-1"))
        issuer.setStatus(.valid(groups: [GroupName("sales")!]))
        #expect(await gateway.serve(renew).status == 200)
        let who = await gateway.serve(ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer token-2")))
        #expect(who.json?["groups"] == .array([.string("sales")]))
        issuer.setStatus(.unknown(.timedOut))
        #expect(await gateway.serve(renew).code == .authenticatorUnavailable)
        issuer.setStatus(.ended(.disabled))
        let refused = await gateway.serve(renew)
        #expect(refused.code == .credentialsRejected)
        #expect(!refused.values("WWW-Authenticate").isEmpty)
        #expect(issuer.queriedLogins == Array(repeating: LoginName("alice"), count: 3))
    }

    /// An issuer that also accepts the passwords of `TestGateway`.
    private struct PasswordsToo: TokenIssuer, AccountAuthenticator {
        let issuer: TestIssuer

        var sessionLifetime: Duration { issuer.sessionLifetime }

        func issue(
            for user: UserName, groups: Set<GroupName>, in session: Session, now: WallTime
        ) throws(TokenIssueError) -> IssuedToken {
            try issuer.issue(for: user, groups: groups, in: session, now: now)
        }

        func status(of login: LoginName) async -> AccountStatus { await issuer.status(of: login) }

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
            guard case .password(let login, _) = credential, let user = UserName(canonical: login.text) else {
                return await issuer.authenticate(credential, from: peer)
            }
            return .accepted(Identity(user: user, authenticator: TestIssuer.name))
        }
    }

    @Test("A token without a session cannot be exchanged, and its deletion revokes only itself")
    func strayToken() async throws {
        let bench = TokenFixture()
        let now = bench.clock.clocks.wall()
        let reference = TokenReference(
            id: "foreign", session: nil, issued: now, expires: WallTime(seconds: now.seconds + 60))
        bench.issuer.add(
            "foreign", Identity(user: UserName(canonical: "bob")!, authenticator: TestIssuer.name, token: reference))
        _ = try await bench.login("bob")
        #expect(await bench.call("POST /auth/token", token: "foreign").code == .credentialsRejected)
        #expect(await bench.call("DELETE /auth/token", token: "foreign").status == 204)
        #expect(await bench.call("GET /auth/whoami", token: "foreign").code == .credentialsRejected)
        #expect(await bench.call("GET /auth/whoami", token: "token-2").status == 200)
    }

    @Test("The deletion of a token ends its session and no other")
    func deleteToken() async throws {
        let bench = TokenFixture()
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

    @Test(
        "A malformed token request is rejected",
        arguments: [
            "[]", "{", "\"x\"", #"{"device":1}"#, #"{"device":""}"#, #"{"device":"a\u0000b"}"#,
            #"{"device":"a","Device":"b"}"#, "{\"device\":\"\(String(repeating: "x", count: 65))\"}",
        ])
    func bodies(body: String) async {
        let bench = TokenFixture()
        #expect(await bench.call("POST /auth/token", as: "alice", body: body).code == .malformedRequest)
        #expect(bench.journal.records(.intent).isEmpty)
    }

    @Test("Without a token issuer the token paths do not exist")
    func noIssuer() async {
        for line in ["POST /auth/token", "DELETE /auth/token", "GET /auth/sessions", "DELETE /auth/sessions/x"] {
            await TestGateway().expect(.noRoute, for: ReceivedRequest(line, as: "alice"))
        }
    }

    @Test("A token that cannot be recorded or signed is not issued")
    func failures() async throws {
        let bench = TokenFixture()
        bench.journal.fail(JournalUnavailable("full"))
        #expect(await bench.call("POST /auth/token", as: "alice").code == .journalUnavailable)
        bench.journal.fail(nil)
        bench.issuer.fail(TokenIssueError("no key", isTemporary: true))
        #expect(await bench.call("POST /auth/token", as: "alice").code == .internalError)
        #expect(bench.journal.records(.outcome).map(\.result) == ["not-issued"])
        #expect(bench.journal.records(.intent).count == 1)
    }

    @Test("An unwritable ledger gets 503 with one outcome and no partial change, and a retry succeeds")
    func unwritableLedger() async throws {
        let bench = TokenFixture()
        let (first, second) = (try await bench.login(), try await bench.login())
        let now = bench.clock.clocks.wall()
        bench.issuer.add(
            "foreign",
            Identity(
                user: UserName(canonical: "bob")!, authenticator: TestIssuer.name,
                token: TokenReference(
                    id: "foreign", session: nil, issued: now, expires: WallTime(seconds: now.seconds + 60))))
        let before = bench.sessions.sessions(of: UserName(canonical: "alice")!)
        let calls = [
            ("POST /auth/token", "token-1", 200), ("DELETE /auth/sessions/\(second.text)", "token-1", 204),
            ("DELETE /auth/token", "token-1", 204), ("DELETE /auth/token", "foreign", 204),
        ]
        bench.sessions.fail(LedgerUnavailable("gone"))
        bench.clock.advance(by: .seconds(1))
        var answers = [await bench.call("POST /auth/token", as: "alice")]
        for (line, token, _) in calls { answers.append(await bench.call(line, token: token)) }
        for response in answers {
            #expect(response.code == .ledgerUnavailable && response.status == 503, "\(response)")
            #expect(response.values("Retry-After") == ["1"])
            #expect(response.json?["access_token"] == nil)
        }
        #expect(bench.sessions.sessions(of: UserName(canonical: "alice")!) == before)
        #expect(bench.journal.records(.outcome).suffix(5).allSatisfy { $0.result == "ledger-unavailable" })
        #expect(bench.journal.records(.intent).count == 7 && bench.journal.records(.outcome).count == 7)
        bench.sessions.fail(nil)
        for (line, token, status) in calls { #expect(await bench.call(line, token: token).status == status, "\(line)") }
        #expect(bench.sessions.session(first) == nil && bench.sessions.session(second) == nil)
    }
}
