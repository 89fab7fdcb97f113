import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

/// Passwords and tokens that are guessed while authenticators give no result.
@Suite("Logins without a result")
struct UndecidedLoginTests {
    /// The result of an authenticator for a wrong password or token. It accepts the right one, unless it is away.
    enum Failure: String, CaseIterable, Sendable {
        /// The usual case, for comparison.
        case rejects
        /// An error, as of a script that fails for a wrong password.
        case fails
        case timesOut
        /// Nothing that verifies credentials was reached, whatever the credential.
        case unreachable, busy

        var wrong: AuthenticationOutcome {
            switch self {
            case .rejects: .rejected(.wrong)
            case .fails: .unavailable(.failed)
            case .timesOut: .unavailable(.timedOut)
            case .unreachable: .unavailable(.unreachable)
            case .busy: .unavailable(.busy)
            }
        }

        var isAway: Bool { !wrong.countsAsFailure }
    }

    /// The kinds of authenticators: those that decide by password with and without regard to the address, and of tokens
    /// that a service knows.
    enum Kind: String, CaseIterable, Sendable { case password, passwordOfAddress, token }

    /// An authenticator that fails for wrong credentials. The right ones are `good` and, for tokens, `good-NAME`.
    private final class Failing: Authenticator {
        let failure: Failure
        let isAway: Mutex<Bool>
        let queries = Mutex<[String: Int]>([:])

        init(_ failure: Failure) {
            self.failure = failure
            isAway = Mutex(failure.isAway)
        }

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
            if isAway.withLock({ $0 }) { return failure.wrong }
            let (name, secret): (String, Secret)
            switch credential {
            case .password(let login, let password): (name, secret) = (login.text, password)
            case .bearer(let token): (name, secret) = ("bob", token)
            case .certificate: return .notMine
            }
            let text = secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            queries.withLock { $0[text, default: 0] += 1 }
            guard text.hasPrefix("good") else { return failure.wrong }
            return .accepted(Identity(user: .test(name), authenticator: "failing"))
        }
    }

    private static let attacker = Peer.v4(66)
    private static let home = Peer.v4(1)

    /// Makes a gateway with the default limits, whose clock is `limits`.
    private static func gateway(
        _ kind: Kind, _ authenticator: Failing, limits: ManualClock = ManualClock()
    ) -> TestGateway {
        TestGateway(
            asking: authenticator, dependsOnPeer: kind != .password,
            credentialKinds: kind == .token ? [.bearer] : [.password]
        ) { $0.limiter = Limiter(Limit.defaults, clocks: limits.clocks) }
    }

    private static func request(
        _ kind: Kind, _ secret: String, from peer: Peer, user: String = "bob"
    ) -> ReceivedRequest {
        kind == .token
            ? ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer \(secret)"), peer: peer)
            : .login(user, secret, from: peer)
    }

    @Test(
        "Ten minutes of guesses in each failure mode are bounded and recorded, and harm nobody else",
        arguments: Kind.allCases, Failure.allCases)
    func guesses(kind: Kind, failure: Failure) async throws {
        let authenticator = Failing(failure)
        let limits = ManualClock()
        let gateway = Self.gateway(kind, authenticator, limits: limits)
        if !failure.isAway {
            #expect(await gateway.serve(Self.request(kind, "good", from: Self.home)).status == 200)
        }
        var statuses: [Int: Int] = [:]
        var honest: [Int: Int] = [:]
        // 2,000 guesses, one in 300 ms.
        for number in 0..<2000 {
            let status = await gateway.serve(Self.request(kind, "guess-\(number)", from: Self.attacker)).status
            statuses[status, default: 0] += 1
            if number % 20 == 0 {
                honest[await gateway.serve(Self.request(kind, "good", from: Self.home)).status, default: 0] += 1
            }
            gateway.scheduler.advance(by: .milliseconds(300))
            limits.advance(by: .milliseconds(300))
            if number % 3 == 0 { gateway.gateway.flushRejections() }
        }
        gateway.gateway.flushRejections(all: true)
        let verified = authenticator.queries.withLock { $0.filter { !$0.key.hasPrefix("good") } }
        if failure.isAway {
            // Nothing was verified, and nothing was charged: the right password works at once when there is a result.
            #expect(verified.isEmpty && Set(statuses.keys) == [503] && Set(honest.keys) == [503])
            authenticator.isAway.withLock { $0 = false }
            #expect(await gateway.serve(Self.request(kind, "good", from: Self.attacker)).status == 200)
        } else {
            // The owner at another address is not affected.
            #expect(honest == [200: 100])
            switch kind {
            case .password, .passwordOfAddress:
                // 10 at once and one in 30 s.
                #expect((29...30).contains(verified.count) && statuses[429] == 2000 - verified.count)
                // The right password of somebody who has to wait is rejected like a wrong one.
                _ = await gateway.serve(Self.request(kind, "more", from: Self.attacker))
                #expect(await gateway.serve(Self.request(kind, "once-more", from: Self.attacker)).status == 429)
                #expect(await gateway.serve(Self.request(kind, "good", from: Self.attacker)).status == 429)
            case .token:
                // 600 a minute by default.
                #expect(verified.count == 2000 && statuses[429] == nil)
            }
        }
        // Each attempt that was not throttled is in the journal.
        let records = gateway.journal.records(.rejection).filter { $0.facts?.peer == Self.attacker }
        let word = failure == .rejects ? "login-failed" : "login-undecided"
        let recorded = records.filter { $0.result == word }.reduce(0) { $0 + ($1.count ?? 1) }
        #expect(recorded >= 2000 - (statuses[429] ?? 0))
        #expect(records.count <= 11 * FailedLoginRecorder.maximumPerMinute)
        if kind != .token, !failure.isAway { #expect(records.contains { $0.result == "banned" }) }
        for record in records where record.result == word {
            #expect(record.facts?.authenticator == "asked" && record.reason != nil)
            #expect(record.facts?.attempted?.text == (kind == .token ? nil : "bob"))
        }
    }

    @Test("A password without a result is charged once, however often it is repeated, until it is accepted")
    func repeated() async {
        let authenticator = Failing(.fails)
        let gateway = Self.gateway(.passwordOfAddress, authenticator)
        // An outage of the service behind the authenticator, in which 20 devices behind one address go on trying.
        for _ in 0..<30 {
            for device in 0..<20 {
                #expect(
                    await gateway.serve(Self.request(.password, "old-\(device)", from: Self.home, user: "u\(device)"))
                        .status == 503)
            }
        }
        // The address has paid for 20 passwords and must wait for the next one.
        #expect(await gateway.login("u20", "x", from: Self.home) == 429)
        #expect(await gateway.login("u1", "other", from: Self.home) == 429)
        gateway.scheduler.advance(by: .seconds(15))
        #expect(await gateway.login("u1", "other", from: Self.home) == 503)
    }

    @Test("A password without a result is charged once for each address that repeats it")
    func repeatedFromTwoAddresses() async {
        let gateway = Self.gateway(.password, Failing(.fails))
        for _ in 0..<30 {
            for peer in [Self.home, Self.attacker] {
                #expect(await gateway.serve(Self.request(.password, "old", from: peer)).status == 503)
            }
        }
    }

    @Test("The acceptance of a password returns what its attempts without a result were charged, and no more")
    func returned() async {
        let accepts = Mutex(false)
        let gateway = TestGateway(
            asking: ScriptedAuthenticator { credential, _ in
                guard accepts.withLock({ $0 }), case .password(let login, _) = credential else {
                    return .unavailable(.failed)
                }
                return .accepted(Identity(user: .test(login.text), authenticator: "asked"))
            })
        for user in 0..<20 { #expect(await gateway.login("u\(user)", "right", from: Self.home) == 503) }
        #expect(await gateway.login("u20", "right", from: Self.home) == 429)
        accepts.withLock { $0 = true }
        gateway.scheduler.advance(by: .seconds(15))
        // All 20 come back, and what they paid is free for others.
        for user in 0..<20 { #expect(await gateway.login("u\(user)", "right", from: Self.home) == 200) }
        accepts.withLock { $0 = false }
        for user in 20..<40 { #expect(await gateway.login("v\(user)", "right", from: Self.home) == 503) }
        #expect(await gateway.login("v40", "right", from: Self.home) == 429)
        // A charge that has expired meanwhile returns nothing that others owe.
        gateway.scheduler.advance(by: .seconds(299))
        gateway.scheduler.advance(by: .seconds(300))
        #expect(await gateway.login("w0", "right", from: Self.home) == 503)
        for user in 1..<20 { #expect(await gateway.login("w\(user)", "right", from: Self.home) == 503) }
        accepts.withLock { $0 = true }
        #expect(await gateway.login("v20", "right", from: Self.home) == 200)
        #expect(await gateway.login("w20", "right", from: Self.home) == 429)
    }
}
