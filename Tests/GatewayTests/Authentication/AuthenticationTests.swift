import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

@Suite struct AuthenticationTests {
    private func chain(_ authenticators: (any Authenticator)...) -> AuthenticatorChain {
        AuthenticatorChain(
            authenticators.enumerated().map { index, authenticator in
                .init(
                    name: PluginName(stringLiteral: "link-\(index)"), credentialKinds: [.password],
                    authenticator: authenticator)
            })
    }

    private func whoami(_ authorization: ReceivedRequest.FieldValue) -> ReceivedRequest {
        ReceivedRequest("GET /auth/whoami", authorization: authorization)
    }

    @Test("The whoami endpoint returns the authenticated identity")
    func theWhoamiEndpointReturnsTheAuthenticatedIdentity() async {
        let response = await TestGateway().serve(Sample.whoami)
        #expect(response.status == 200)
        #expect(response.contentType == "application/json")
        #expect(
            response.text
                == "{\"user\":\"alice\",\"groups\":[\"dispatch\"],\"tag\":\"username:alice\",\"authenticator\":\"fixed\"}"
        )
        #expect(response.values("Cache-Control") == ["no-store"])
    }

    @Test("Tokens and passwords are accepted") func tokensAndPasswordsAreAccepted() async {
        for field in ["Bearer alices-token", "bearer  alices-token", "BEARER alices-token"] {
            #expect(await TestGateway().serve(whoami(.text(field))).status == 200)
        }
        let pair = String(decoding: Base64.encode(Array("ALICE:alice's secret".utf8), .standard), as: UTF8.self)
        #expect(await TestGateway().serve(whoami(.text("basic \(pair)"))).status == 200)
    }

    @Test("A request without credentials gets credentials-missing with the challenges")
    func requestsWithoutCredentialsGetTheChallenges() async {
        for request in [Sample.send(), Sample.put(), Sample.delete, Sample.create, Sample.whoami] {
            var request = request
            request.authorization = .absent
            let gateway = TestGateway()
            let response = await gateway.expect(.credentialsMissing, for: request)
            #expect(
                response.values("WWW-Authenticate") == ["Basic realm=\"notify\", charset=\"UTF-8\"", "Bearer"])
            #expect(gateway.journal.records.isEmpty)
        }
    }

    @Test(
        "All invalid credentials get the same response",
        arguments: [
            "", "Basic", "Basic ", "Bearer", "Bearer ", "Digest x", "Negotiate x", "Basic YWxpY2U6YWxpY2U",
            "Basic YWxpY2U6YWxpY2U= x",
            "Basic !!!!", "Basic YWxpY2U=", "Basic Og==", "Basic OnNlY3JldA==", "Basic YWxpY2U6", "Basic YWxpY2U6AA==",
            "Basic YWwAOng=",
            "Basic /zp4", "Bearer a b", "Bearer é", "Bearer \u{0}", "Bearer unknown", "YWxpY2U6YWxpY2U=",
            "Basic\tYWxpY2U6YWxpY2U=",
        ])
    func allInvalidCredentialsGetTheSameResponse(_ field: String) async {
        let gateway = TestGateway()
        let response = await gateway.expect(.credentialsRejected, for: whoami(.text(field)))
        let unknown = await gateway.expect(.credentialsRejected, for: whoami(.basic("nobody", "x")))
        let wrong = await gateway.expect(.credentialsRejected, for: whoami(.basic("alice", "x")))
        #expect(response == unknown && unknown == wrong)
        #expect(response.values("WWW-Authenticate").count == 2)
        #expect(gateway.journal.records.allSatisfy { $0.result == "login-failed" && $0.facts?.user == nil })
    }

    @Test("The password is everything after the first colon") func thePasswordIsEverythingAfterTheFirstColon() async {
        let long = String(repeating: "x", count: 1024)
        let gateway = TestGateway { rules in
            rules.authenticators = AuthenticatorChain([
                .init(
                    name: "fixed", credentialKinds: [.password],
                    authenticator: FixedAuthenticator(passwords: ["alice": long, "bob": "a:b"]))
            ])
        }
        #expect(await gateway.serve(whoami(.basic("alice", long))).status == 200)
        await gateway.expect(.credentialsRejected, for: whoami(.basic("alice", long + "x")))
        // The separator is the first colon.
        #expect(await gateway.serve(whoami(.basic("bob", "a:b"))).status == 200)
        // The tutorial backend accepts the user name as the password; the gateway does not.
        await gateway.expect(.credentialsRejected, for: whoami(.basic("alice", "alice")))
    }

    @Test("Credentials over an insecure transport are not verified")
    func credentialsOverAnInsecureTransportAreNotVerified() async {
        let authenticator = FixedAuthenticator(passwords: ["alice": TestGateway.password(of: "alice")])
        let gateway = TestGateway { $0.authenticators = chain(authenticator) }
        for field in [
            ReceivedRequest.FieldValue.basic("alice", TestGateway.password(of: "alice")), .text("Bearer x"),
            .text("Junk"),
        ] {
            await gateway.expect(
                .insecureTransport,
                for: ReceivedRequest("GET /auth/whoami", authorization: field, allowsCredentials: false))
        }
        #expect(authenticator.verificationCount == 0)
    }

    @Test("The first authenticator that recognizes a credential decides")
    func theFirstAuthenticatorThatRecognizesACredentialDecides() async {
        let last = FixedAuthenticator(passwords: ["alice": TestGateway.password(of: "alice")])
        func gateway(_ first: AuthenticationOutcome) -> TestGateway {
            TestGateway { $0.authenticators = chain(ScriptedAuthenticator(always: first), last) }
        }
        #expect(await gateway(.notMine).serve(Sample.whoami).status == 200)
        #expect(last.verificationCount == 1)
        await gateway(.rejected(.disabled)).expect(.credentialsRejected, for: Sample.whoami)
        await gateway(.rejected(.unmapped)).expect(.identityUnmapped, for: Sample.whoami)
        let response = await gateway(.unavailable(.failed)).expect(.authenticatorUnavailable, for: Sample.whoami)
        #expect(response.values("Retry-After") == ["5"])
        #expect(last.verificationCount == 1)
        let nobodys = TestGateway { $0.authenticators = chain(ScriptedAuthenticator(always: .notMine)) }
        await nobodys.expect(.credentialsRejected, for: Sample.whoami)
        // The challenges list only schemes that an authenticator takes, and only its authenticators are queried.
        #expect(await nobodys.serve(whoami(.absent)).values("WWW-Authenticate").count == 1)
        await nobodys.expect(.credentialsRejected, for: whoami(.text("Bearer x")))
    }

    @Test("A late authentication result completes the call") func aLateAuthenticationResultCompletesTheCall() async {
        let late = LateAuthenticator()
        let gateway = TestGateway { $0.authenticators = chain(late) }
        async let response = gateway.serve(Sample.send())
        await late.untilWaiting(1)
        #expect(gateway.timeline.events.isEmpty)
        late.respond(.accepted(Identity(user: UserName(canonical: "alice")!, authenticator: "late")))
        #expect(await response.status == 200)
        #expect(gateway.journal.records(.intent).first?.facts?.authenticator == "late")
    }

    @Test("Failed logins are charged to the address, and successful ones are not")
    func failedLoginsAreChargedToTheAddressAndSuccessfulOnesAreNot() async {
        let clock = ManualClock()
        let gateway = TestGateway { rules in
            rules.limiter = Limiter(
                [Limit(name: "login", per: [.address], count: 2, period: .seconds(60))], clocks: clock.clocks)
        }
        for _ in 0..<5 { #expect(await gateway.serve(Sample.whoami).status == 200) }
        for user in ["nobody", "somebody"] {
            await gateway.expect(.credentialsRejected, for: whoami(.basic(user, "x")))
        }
        let response = await gateway.expect(.rateLimited, for: whoami(.basic("bob", TestGateway.password(of: "bob"))))
        #expect(response.values("Retry-After") == ["30"])
        // A cached result is not charged, and is returned although the limit is exhausted.
        await gateway.expect(.credentialsRejected, for: whoami(.basic("nobody", "x")))
        #expect(await gateway.serve(Sample.whoami).status == 200)
        await gateway.expect(.rateLimited, for: whoami(.text("Bearer unknown")))
        await gateway.expect(.rateLimited, for: whoami(.text("Basic junk")))
        clock.advance(by: .seconds(30))
        #expect(await gateway.serve(whoami(.basic("bob", TestGateway.password(of: "bob")))).status == 200)
    }

    @Test("An outage of the authenticator counts as no failed login")
    func anOutageOfTheAuthenticatorCountsAsNoFailedLogin() async {
        let gateway = TestGateway { rules in
            rules.authenticators = chain(ScriptedAuthenticator(always: .unavailable(.timedOut)))
            rules.limiter = Limiter(
                [Limit(name: "login", per: [.address], count: 2, period: .seconds(60))], clocks: ManualClock().clocks)
        }
        for _ in 0..<5 { await gateway.expect(.authenticatorUnavailable, for: Sample.whoami) }
    }

    @Test("Recipients are made canonical by the configured name rules")
    func recipientsAreMadeCanonicalByTheConfiguredNameRules() async {
        let gateway = TestGateway { $0.names = NameRules(suffixes: ["@example.com"]) }
        // The scripted authenticator has no suffix rule, so the test covers `to_tag`.
        #expect(await gateway.serve(Sample.send(to: "BOB%40Example.com")).status == 200)
        #expect(gateway.backend.requests.first?.query?.last?.value == "bob")
    }
}
