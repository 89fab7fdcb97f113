import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("The deadline of authentication")
struct DeadlineTests {
    private let alice = Identity(user: .test("alice"), authenticator: "late")

    @Test("A hanging authenticator is unavailable at the deadline, and its late result is dropped")
    func hanging() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        async let response = gateway.serve(Sample.send())
        await late.untilWaiting(1)
        await gateway.scheduler.untilWaiting(1)
        gateway.scheduler.advance(by: .milliseconds(9_999))
        #expect(gateway.scheduler.waiting == 1)
        gateway.scheduler.advance(by: .milliseconds(1))
        let refused = await response
        #expect(refused.code == .authenticatorUnavailable && refused.status == 503)
        #expect(refused.values("Retry-After") == ["5"])
        late.respond(.accepted(alice))
        // Nothing happened but the record of the attempt.
        #expect(gateway.journal.records.map(\.result) == ["login-undecided"])
        #expect(gateway.timeline.events.count == 1)
        // The result is not cached. The next call queries the authenticator again, which now responds.
        #expect(await gateway.serve(Sample.whoami).status == 200)
    }

    @Test("No waiting caller receives a late result", arguments: [2, 20])
    func hangingForMany(callers: Int) async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        await withTaskGroup { tasks in
            for _ in 0..<callers { tasks.addTask { await gateway.serve(Sample.whoami).status } }
            await gateway.scheduler.untilWaiting(1)
            gateway.scheduler.advance(by: .seconds(10))
            late.respond(.rejected(.wrong))
            var statuses: [Int] = []
            for await status in tasks { statuses.append(status) }
            // A call that arrives after the deadline queries the authenticator again, and gets that result.
            #expect(statuses.contains(503) && statuses.allSatisfy { [503, 401].contains($0) })
        }
    }

    @Test("The configured deadline applies to tokens and passwords")
    func configured() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late, credentialKinds: [.bearer]) { $0.authentication.deadline = .seconds(2) }
        async let response = gateway.serve(
            ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer some-token")))
        await gateway.scheduler.untilWaiting(1)
        gateway.scheduler.advance(by: .seconds(2))
        #expect(await response.code == .authenticatorUnavailable)
        late.respond(.accepted(alice))
    }

    @Test("All authenticators together share one deadline")
    func oneForAll() async {
        let (first, second) = (LateAuthenticator(), LateAuthenticator())
        let gateway = TestGateway { rules in
            rules.authenticators = AuthenticatorChain([
                .init(name: "first", credentialKinds: [.password], authenticator: first),
                .init(name: "second", credentialKinds: [.password], authenticator: second),
            ])
        }
        async let response = gateway.serve(Sample.whoami)
        await gateway.scheduler.untilWaiting(1)
        gateway.scheduler.advance(by: .seconds(8))
        first.respond(.notMine)
        await second.untilWaiting(1)
        gateway.scheduler.advance(by: .seconds(2))
        #expect(await response.code == .authenticatorUnavailable)
        second.respond(.accepted(alice))
    }

    @Test("An immediate result needs no timer")
    func noTimer() async {
        let gateway = TestGateway()
        #expect(await gateway.serve(Sample.whoami).status == 200)
        let token = ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer alices-token"))
        #expect(await gateway.serve(token).status == 200)
        #expect(await gateway.serve(.login("alice", "wrong")).status == 401)
        #expect(gateway.scheduler.timesScheduled == 0)
    }

    @Test("A token with an immediate outcome needs no task, and the same checks apply to it")
    func atOnce() async {
        let alice = Identity(user: .test("alice"), authenticator: "prompt")
        func status(
            _ verdicts: [AuthenticationOutcome?], _ scope: AuthenticatorScope = AuthenticatorScope()
        ) async -> Int {
            let gateway = TestGateway { rules in
                rules.authenticators = AuthenticatorChain(
                    verdicts.map {
                        .init(
                            name: "prompt", credentialKinds: [.bearer], scope: scope,
                            authenticator: PromptAuthenticator(atOnce: $0))
                    })
            }
            return await gateway.serve(
                ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer x"))
            ).status
        }
        #expect(await status([.accepted(alice)]) == 200)
        #expect(await status([.notMine, .accepted(alice)]) == 200)
        #expect(await status([.rejected(.wrong), .accepted(alice)]) == 401)
        #expect(await status([.notMine]) == 401)
        #expect(await status([.unavailable(.failed)]) == 503)
        #expect(await status([.accepted(alice)], AuthenticatorScope(users: [])) == 401)
        // An authenticator that has to wait is queried asynchronously, and returns 403 here.
        #expect(await status([nil]) == 403)
        #expect(await status([.notMine, nil]) == 403)
    }

    @Test("The result cancels the timer")
    func timerEnds() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        async let response = gateway.serve(Sample.whoami)
        await gateway.scheduler.untilWaiting(1)
        late.respond(.accepted(alice))
        #expect(await response.status == 200)
        #expect(gateway.scheduler.waiting == 0)
    }

    @Test("No failure of an authenticator grants access", arguments: FailingPlugin.Failure.allCases)
    func failing(how: FailingPlugin.Failure) async throws {
        let settings = FailingPlugin.Settings(how, user: .test("eve"), after: .seconds(3600))
        guard
            let failing = try? await FailingPlugin.makeAuthenticator(settings, context: .test())
        else {
            // This plug-in does not start.
            #expect(how == .throws)
            return
        }
        let gateway = TestGateway(asking: failing)
        async let response = gateway.serve(Sample.send())
        if how != .anotherUser {
            await gateway.scheduler.untilWaiting(1)
            gateway.scheduler.advance(by: .seconds(10))
        }
        #expect(await response.code == (how == .anotherUser ? .credentialsRejected : .authenticatorUnavailable))
        // Only the attempt is recorded.
        #expect(gateway.timeline.events.count == gateway.journal.records.count)
        #expect(gateway.journal.records.map(\.result) == [how == .anotherUser ? "login-failed" : "login-undecided"])
    }

    @Test("An outage is not cached and counts as no failed login")
    func outages() async {
        let gateway = TestGateway(asking: ScriptedAuthenticator(always: .unavailable(.busy)))
        for _ in 0..<200 { #expect(await gateway.login("alice", "x") == 503) }
        let response = await gateway.expect(.overloaded, for: Sample.send())
        #expect(response.values("Retry-After") == ["1"])
        #expect(gateway.gateway.passwordCache.count == 0)
        #expect(gateway.gateway.throttle.currentBans().isEmpty)
    }
}

/// An authenticator with a scripted immediate outcome. Its asynchronous outcome is `unmapped`.
private struct PromptAuthenticator: Authenticator {
    let atOnce: AuthenticationOutcome?

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        if case .notMine? = atOnce { return .notMine }
        return .rejected(.unmapped)
    }

    func immediateOutcome(on credential: Credential, from peer: Peer) -> AuthenticationOutcome? { atOnce }
}
