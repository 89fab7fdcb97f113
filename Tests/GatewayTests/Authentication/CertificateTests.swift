import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Calls with client certificates")
struct CertificateTests {
    private static let alice = ClientCertificateResult.verified(VerifiedCertificate(commonNames: ["alice"]))

    /// A gateway whose authenticator accepts passwords, tokens and, unless told otherwise, certificates.
    private func gateway(
        accepting kinds: Set<CredentialKind> = [.password, .bearer, .certificate],
        scope: AuthenticatorScope = AuthenticatorScope(), limits: [Limit] = []
    ) -> TestGateway {
        TestGateway { rules in
            let authenticator = FixedAuthenticator(
                passwords: ["bob": "b"], tokens: ["token": "bob"], groups: ["alice": [GroupName("dispatch")!]])
            rules.authenticators = AuthenticatorChain([
                .init(
                    name: FixedAuthenticator.name, credentialKinds: kinds, scope: scope, authenticator: authenticator),
                .init(
                    name: TestIssuer.name, credentialKinds: [.bearer],
                    authenticator: TestIssuer(revocations: EmptyRevocationList())),
            ])
            rules.limiter = Limiter(limits, clocks: ManualClock().clocks)
        }
    }

    private func request(
        _ certificate: ClientCertificateResult?, _ line: String = "GET /auth/whoami",
        authorization: ReceivedRequest.FieldValue? = nil, allowsCredentials: Bool = true
    ) -> ReceivedRequest {
        var request = ReceivedRequest(line, authorization: authorization, allowsCredentials: allowsCredentials)
        request.certificate = certificate
        return request
    }

    @Test("A certificate identifies the caller of a call without Authorization")
    func identifies() async {
        let answer = await gateway().serve(request(Self.alice))
        #expect(answer.status == 200)
        #expect(answer.json?["user"]?.string == "alice")
        #expect(answer.json?["groups"] == .array([.string("dispatch")]))
    }

    @Test("Authorization is used instead of the certificate, whether it is valid or not")
    func authorizationWins() async {
        let gateway = gateway()
        let good = await gateway.serve(request(Self.alice, authorization: .basic("bob", "b")))
        #expect(good.json?["user"]?.string == "bob")
        for bad in [ReceivedRequest.FieldValue.basic("bob", "wrong"), .text("Bearer x"), .text("Digest x"), .text("")] {
            #expect(await gateway.serve(request(Self.alice, authorization: bad)).code == .credentialsRejected)
        }
        let repeated = await gateway.serve(request(Self.alice, authorization: .repeated))
        #expect(repeated.code == .malformedRequest)
    }

    @Test("An invalid certificate is rejected like a wrong token and charged to its address")
    func invalid() async {
        let limit = Limit(name: "login", per: [.address], count: 2, period: .seconds(60))
        let gateway = gateway(limits: [limit])
        for _ in 0..<5 { #expect(await gateway.serve(request(Self.alice)).status == 200) }
        for reason in [InvalidCredentialReason.expired, .revoked] {
            let answer = await gateway.serve(request(.invalid(reason)))
            #expect(answer.code == .credentialsRejected)
            #expect(!answer.text.contains(reason.rawValue))
        }
        #expect(await gateway.serve(request(.invalid(.revoked))).code == .rateLimited)
    }

    @Test("A certificate that cannot be verified is an outage, and no failed login")
    func unverifiable() async {
        let answer = await gateway().serve(request(.unverifiable))
        #expect(answer.code == .authenticatorUnavailable)
        #expect(answer.values("Retry-After") == ["5"])
    }

    @Test("Without an authenticator for certificates, they are ignored")
    func notAccepted() async {
        let gateway = gateway(accepting: [.password])
        for certificate in [Self.alice, .invalid(.revoked), .unverifiable] {
            #expect(await gateway.serve(request(certificate)).code == .credentialsMissing)
        }
    }

    @Test("No challenge asks for a certificate")
    func challenges() async {
        #expect(await gateway().serve(request(nil)).values("WWW-Authenticate").count == 2)
        let only = TestGateway { rules in
            rules.authenticators = AuthenticatorChain([
                .init(
                    name: FixedAuthenticator.name, credentialKinds: [.certificate],
                    authenticator: FixedAuthenticator(passwords: [:]))
            ])
        }
        let answer = await only.serve(request(nil))
        #expect(answer.code == .credentialsMissing)
        #expect(answer.values("WWW-Authenticate").isEmpty)
    }

    @Test("A certificate that a proxy reports for a plaintext client is not used")
    func plaintext() async {
        let answer = await gateway().serve(request(Self.alice, allowsCredentials: false))
        #expect(answer.code == .insecureTransport)
    }

    @Test("The scope of the authenticator applies")
    func scope() async {
        let scope = AuthenticatorScope(users: [NamePattern("svc-*", names: NameRules())!])
        #expect(await gateway(scope: scope).serve(request(Self.alice)).code == .credentialsRejected)
        let noGroups = AuthenticatorScope(groups: [])
        #expect(await gateway(scope: noGroups).serve(request(Self.alice)).code == .credentialsRejected)
    }

    @Test("A certificate begins a session that ends like those of accounts without status")
    func session() async throws {
        let gateway = gateway()
        let answer = await gateway.serve(request(Self.alice, "POST /auth/token"))
        #expect(answer.status == 200)
        let id = try #require(answer.json?["session"]?.string.flatMap(SessionID.init))
        let session = try #require(gateway.sessions.session(id))
        #expect(session.user.text == "alice")
        #expect(session.login == LoginName("alice"))
        #expect(session.authenticator == FixedAuthenticator.name)
        #expect(session.ends.seconds - session.began.seconds == 86_400)
    }

    @Test("An authenticator that suspends is queried about a certificate within the deadline")
    func suspends() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late, credentialKinds: [.certificate])
        async let answer = gateway.serve(request(Self.alice))
        await late.untilWaiting(1)
        late.respond(.accepted("carol", by: "asked"))
        #expect(await answer.json?["user"]?.string == "carol")
    }
}
