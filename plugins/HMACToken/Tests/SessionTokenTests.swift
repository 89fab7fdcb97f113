import GatewayCore
import GatewaySupport
import GatewayTesting
import HMACToken
import Synchronization
import Testing

@Suite("Session tokens and revoked tokens")
struct SessionTokenTests {
    private static let alice = UserName(canonical: "alice")!  // Valid by the grammar of names.
    private static let session = Session(
        id: SessionID(random: (1, 2)), user: alice, login: LoginName("alice"), authenticator: "static-users",
        device: nil, began: WallTime(seconds: WallTime.test.seconds - 100),
        ends: WallTime(seconds: WallTime.test.seconds + 1800), renewed: .test)

    /// A revocation list that the test fills, and that records every query.
    private final class Revocations: RevocationList {
        let revoked = Mutex<Set<TokenReference>>([])
        let asked = Mutex<[TokenReference]>([])

        func isRevoked(_ token: TokenReference, of user: UserName) -> Bool {
            asked.withLock { $0.append(token) }
            return revoked.withLock { $0.contains(token) }
        }
    }

    private func context(_ revocations: any RevocationList) -> PluginContext {
        let context = PluginContext.test()
        return PluginContext(
            logger: context.logger, blockingPool: context.blockingPool, clocks: context.clocks, names: context.names,
            isLastOfItsKind: true, revocations: revocations)
    }

    @Test("An issued token carries its session and groups and expires no later than the session")
    func issued() async throws {
        let revocations = Revocations()
        let authenticator = try await testAuthenticator(context(revocations))
        let issuer = try #require(authenticator as? any TokenIssuer)
        #expect(issuer.sessionLifetime == .seconds(30 * 86_400))
        let issued = try issuer.issue(
            for: Self.alice, groups: [GroupName("dispatch")!], in: Self.session, now: .test)
        #expect(issued.expires == Self.session.ends)
        let text = issued.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        let (outcome, token) = await authenticator.presentWithReference(text)
        #expect(outcome == identity("alice", groups: ["dispatch"]))
        #expect(
            token == TokenReference(id: issued.id, session: Self.session.id, issued: .test, expires: issued.expires))
        #expect(revocations.asked.withLock(\.count) == 1)
        let claims = try #require(text.split(separator: ".").dropFirst().first)
        let decoded = Base64.decode(Array(claims.utf8).span, .url)
        let bytes = try #require(decoded)
        let json = try JSONParser().parse(bytes.span)
        #expect(json["sid"]?.string == Self.session.id.text)
        #expect(json["auth_time"]?.integer == Self.session.began.seconds)
    }

    /// A revocation list to which a session becomes known between its first two answers.
    private final class LateSession: RevocationList {
        let isKnown = Atomic(false)

        func isRevoked(_ token: TokenReference, of user: UserName) -> Bool { !isKnown.load(ordering: .relaxed) }

        func mayHaveBegunElsewhere(_ token: TokenReference) -> Bool {
            isKnown.store(true, ordering: .relaxed)
            return false
        }
    }

    @Test("A session of another gateway that becomes known during the verification is accepted")
    func lateSession() async throws {
        let authenticator = try await testAuthenticator(context(LateSession()))
        #expect(await authenticator.presentWithReference(Forge.token()).0 == identity("alice"))
    }

    @Test("An expired session gets no token")
    func over() async throws {
        let issuer = try #require(try await testAuthenticator() as? any TokenIssuer)
        let fault = #expect(throws: TokenIssueError.self) {
            try issuer.issue(for: Self.alice, groups: [], in: Self.session, now: Self.session.ends)
        }
        #expect(fault?.isTemporary == false)
    }

    @Test("A revoked token is rejected by the asynchronous and the synchronous verification")
    func revoked() async throws {
        let revocations = Revocations()
        let authenticator = try await testAuthenticator(context(revocations))
        let token = Forge.token()
        let (outcome, reference) = await authenticator.presentWithReference(token)
        #expect(outcome == identity("alice"))
        let known = try #require(reference)
        #expect(known.session == nil)
        revocations.revoked.withLock { _ = $0.insert(known) }
        #expect(await authenticator.present(token) == .rejected(.revoked))
        let atOnce = authenticator.immediateOutcome(on: .bearer(token: Secret(token.utf8)), from: .documentation)
        #expect(atOnce == .rejected(.revoked))
    }

    @Test("A sid that is not a session id makes the token malformed", arguments: ["\"x\"", "1", "null", "\"\""])
    func wrongSession(sid: String) async throws {
        let token = Forge.token(claims: Forge.claims(["sid": sid]))
        #expect(try await testAuthenticator().present(token) == .rejected(.malformed))
    }

    @Test("A token of another issuer has no session here, and its issue time allows for a clock that is ahead")
    func partner() async throws {
        let bytes = Forge.bytes + Forge.bytes
        let token = Forge.token(
            header: #"{"alg":"HS256","kid":"partner"}"#,
            claims: Forge.claims(["sub": "\"svc-1\"", "sid": "\"\(Self.session.id)\""]), key: bytes[3..<35])
        let (outcome, reference) = await (try testAuthenticator()).presentWithReference(token)
        #expect(outcome == identity("svc-1"))
        #expect(reference?.session == nil)
        #expect(reference?.issued == WallTime(seconds: 1_795_244_400 - 60))
    }
}
