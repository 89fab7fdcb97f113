import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

/// A provider that completes every login with the same outcome.
private struct FixedProvider: BrowserLoginProvider {
    let outcome: AuthenticationOutcome
    var offersBrowserLogins = true

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }
    func beginLogin(_ request: BrowserLoginRequest) async -> BrowserLoginStart { .redirect(to: "https://id.example") }
    func completeLogin(_ response: BrowserLoginResponse) async -> AuthenticationOutcome { outcome }
}

@Suite("Logins through a browser, outside of calls")
struct BrowserLoginTests {
    private static let response = BrowserLoginResponse(
        code: Secret("c".utf8), issuer: nil, verifier: Secret("v".utf8), nonce: "n", redirectURI: "", provedSince: nil)
    private static let accepted = AuthenticationOutcome.accepted(
        Identity(
            user: .test("alice"), authenticator: "asked",
            token: TokenReference(
                id: "t", session: nil, issued: .test, expires: .test,
                provider: ProviderLogin(issuer: "i", subject: "00u1"))))

    private func complete(_ gateway: TestGateway) async -> Result<VerifiedLogin, Rejection> {
        await gateway.gateway.completeBrowserLogin(
            Self.response, since: RevocationEpoch(count: 3), from: .documentation, as: CallID(process: 1, number: 1))
    }

    private func code(_ result: Result<VerifiedLogin, Rejection>) -> RejectionCode? {
        if case .failure(let rejection) = result { rejection.code } else { nil }
    }

    @Test("The first authenticator that offers logins completes them, within its scope")
    func scope() async throws {
        let gateway = TestGateway(asking: FixedProvider(outcome: Self.accepted), credentialKinds: [.bearer])
        let login = try await complete(gateway).get()
        #expect(login.identity.user == .test("alice") && login.login == LoginName("00u1"))
        #expect(login.epoch == RevocationEpoch(count: 3) && login.provider?.subject == "00u1")
        #expect(gateway.journal.records.isEmpty)
        let scoped = TestGateway(
            asking: FixedProvider(outcome: Self.accepted), credentialKinds: [.bearer],
            scope: AuthenticatorScope(users: [NamePattern("bob", names: NameRules())!]))
        #expect(code(await complete(scoped)) == .credentialsRejected)
    }

    @Test("Chains say what they offer")
    func methods() async {
        func chain(_ providers: FixedProvider..., kinds: Set<CredentialKind> = [.bearer]) -> AuthenticatorChain {
            AuthenticatorChain(providers.map { .init(name: "asked", credentialKinds: kinds, authenticator: $0) })
        }
        let off = FixedProvider(outcome: .notMine, offersBrowserLogins: false)
        let on = FixedProvider(outcome: Self.accepted)
        #expect(!chain(off).offersBrowserLogins && chain(off, on).offersBrowserLogins)
        #expect(!chain(on).acceptsPasswords && chain(on, kinds: [.password]).acceptsPasswords)
        let request = BrowserLoginRequest(
            redirectURI: "", state: "", nonce: "", codeChallenge: "", requiresNewProof: false)
        #expect(await chain(off).beginBrowserLogin(request) == .unavailable(.failed))
        #expect(await chain(off, on).beginBrowserLogin(request) == .redirect(to: "https://id.example"))
    }

    @Test("A failed login and one without a result are charged and recorded; one that reached nothing is recorded")
    func failures() async {
        func gateway(_ outcome: AuthenticationOutcome) -> TestGateway {
            TestGateway(asking: FixedProvider(outcome: outcome), credentialKinds: [.bearer]) { rules in
                rules.limiter = Limiter(
                    [Limit(name: "login", per: [.address], count: 2, period: .seconds(60))],
                    clocks: ManualClock().clocks)
            }
        }
        let wrong = gateway(.rejected(.wrong))
        for _ in 0..<2 { #expect(code(await complete(wrong)) == .credentialsRejected) }
        #expect(code(await complete(wrong)) == .rateLimited)
        let record = wrong.journal.records(.rejection).first
        #expect(record?.result == "login-failed" && record?.facts?.action == .operatorLogin)
        #expect(record?.facts?.authenticator == "asked" && record?.facts?.attempted == nil)
        let failing = gateway(.unavailable(.failed))
        for _ in 0..<2 { #expect(code(await complete(failing)) == .authenticatorUnavailable) }
        #expect(code(await complete(failing)) == .rateLimited)
        #expect(failing.journal.records(.rejection).first?.result == "login-undecided")
        let away = gateway(.unavailable(.unreachable))
        for _ in 0..<3 { #expect(code(await complete(away)) == .authenticatorUnavailable) }
        #expect(away.journal.records(.rejection).first?.result == "login-undecided")
        let busy = gateway(.unavailable(.busy))
        #expect(code(await complete(busy)) == .overloaded)
        let good = gateway(Self.accepted)
        for _ in 0..<3 { #expect(code(await complete(good)) == nil) }
    }
}
