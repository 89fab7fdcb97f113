import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

/// The property that a send whose caller is revoked while it waits leaves the gateway no more: whichever wait it is, and
/// however the caller is revoked.
@Suite("Sends that wait while their caller is revoked", .timeLimit(.minutes(2)))
struct WaitingSendRevocationTests {
    @Test("A thousand revocations at random moments: nothing is recorded, stored or written afterwards")
    func randomMoments() async throws {
        var random = SplitMix(seed: 20_261_128)
        var moments: [Shape: Int] = [:]
        for shape in Shape.allCases { moments[shape] = try await Case(shape, .user, at: .max).run().moments }
        var stopped = 0
        for _ in 0..<1000 {
            let shape = try #require(Shape.allCases.randomElement(using: &random))
            let revocation = try #require(Revocation.allCases.randomElement(using: &random))
            let moment = Int.random(in: 1...moments[shape, default: 1], using: &random)
            let end = try await Case(shape, revocation, at: moment).run()
            let comment: Comment = "\(shape), \(revocation) at moment \(moment): \(end)"
            #expect(end.isRevoked, comment)
            #expect(end.late == [], comment)
            #expect(end.outcomes == end.intents, comment)
            #expect(end.revokedOutcomes == end.intents - end.written, comment)
            if end.written > 0 {
                #expect(end.status == 200, comment)
                #expect(end.wasReplayed == shape.isKeyed, comment)
            } else {
                stopped += 1
                #expect(end.status == 401 && end.challenges > 0, comment)
                // The key is free again, and no text waits for a push that never comes.
                #expect(!end.wasReplayed && end.texts == 0, comment)
            }
        }
        #expect(stopped > 300)
    }

    /// The kind of the send, and the place of its key.
    struct Shape: Hashable, CaseIterable {
        enum Key: CaseIterable { case none, inMemory, shared }

        let key: Key
        let isSecure: Bool
        let members: Int?
        var isKeyed: Bool { key != .none }

        static let allCases = Key.allCases.flatMap { key in
            [false, true].flatMap { isSecure in [nil, 1, 20].map { Shape(key: key, isSecure: isSecure, members: $0) } }
        }
    }

    /// How the caller loses its access.
    enum Revocation: CaseIterable { case user, session, token, provider }

    /// The end of a case.
    struct End: CustomStringConvertible {
        var moments = 0
        var isRevoked = false
        /// The events after the revocation that must not happen.
        var late: [String] = []
        var written = 0
        var intents = 0
        var outcomes = 0
        var revokedOutcomes = 0
        var status = 0
        var challenges = 0
        var texts = 0
        var wasReplayed = false

        var description: String {
            "status \(status), written \(written), intents \(intents), revoked \(revokedOutcomes), late \(late)"
        }
    }
}

/// The moments of a call: the beginning and the end of each wait. At one of them, the caller is revoked.
private final class Moments: Sendable {
    private struct State {
        var passed = 0
        var isRevoked = false
        var late: [String] = []
        var written = 0
    }

    private let state = Mutex(State())
    private let moment: Int
    private let revoke: @Sendable () -> Void

    init(at moment: Int, _ revoke: @escaping @Sendable () -> Void) {
        self.moment = moment
        self.revoke = revoke
    }

    /// Passes a moment. The revocation is complete when this returns.
    func pass() {
        state.withLock { state in
            state.passed += 1
            guard state.passed == moment else { return }
            revoke()
            state.isRevoked = true
        }
    }

    /// Notes that the gateway begins something that a revoked caller must not cause any more.
    func begin(_ what: String) { state.withLock { if $0.isRevoked { $0.late.append(what) } } }

    /// Writes a request, as a backend client does: unless its caller is revoked at that very moment.
    ///
    /// - Parameter isQueue: Whether the request has waited for a connection since the gateway last asked.
    func write(_ request: borrowing RecordedRequest, isQueue: Bool) -> CallerWithdrawal? {
        state.withLock { state in
            if isQueue, let withdrawal = request.caller?.withdrawal { return withdrawal }
            if state.isRevoked { state.late.append("written") }
            state.written += 1
            return nil
        }
    }

    func end(_ end: inout WaitingSendRevocationTests.End) {
        state.withLock { state in
            (end.moments, end.isRevoked, end.late) = (state.passed, state.isRevoked, state.late)
            end.written = state.written
        }
    }
}

/// One send to a gateway whose authenticator, register, journal, texts and backend wait, and the same send again by
/// another login.
private struct Case {
    typealias Shape = WaitingSendRevocationTests.Shape

    private let shape: Shape
    private let moments: Moments
    private let journal: MemoryJournal
    private let texts: MemorySecureTexts
    private let gateway: Gateway

    static let session = SessionID(random: (1, 2))
    static let login = ProviderLogin(issuer: "https://issuer.test", subject: "alice")

    init(_ shape: Shape, _ revocation: WaitingSendRevocationTests.Revocation, at moment: Int) async throws {
        let clock = ManualClock()
        let now = clock.clocks.wall()
        let alice = UserName(canonical: "alice")!
        let sessions = MemorySessions(clock: clock)
        let hasStarted = try await sessions.start(
            Session(
                id: Self.session, user: alice, login: LoginName("alice"), authenticator: "waiting", device: nil,
                began: now, ends: now.adding(86_400_000_000), renewed: now, provider: Self.login),
            since: sessions.epoch)
        precondition(hasStarted)
        let moments = Moments(at: moment) {
            switch revocation {
            case .user: sessions.revoke(alice)
            case .session: sessions.deleteNow(Self.session, of: alice)
            case .token: sessions.revokeNow(token: "t-1", of: alice, until: now.adding(3_600_000_000))
            case .provider:
                sessions.logOutNow(
                    ProviderLogout(issuer: Self.login.issuer, targets: [.subject(Self.login.subject)], issued: now))
            }
        }
        self.shape = shape
        self.moments = moments
        let (journal, texts) = (MemoryJournal(), MemorySecureTexts())
        (self.journal, self.texts) = (journal, texts)
        let audience = AudienceName("oncall")!
        var rules = TestGateway.rules(clock: clock)
        rules.upstreams[0].hub = HubSettings(
            connection: try HubConnectionString(
                "Endpoint=sb://hub.test/;SharedAccessKeyName=Send;SharedAccessKey=0123456789abcdef"), name: "demo")
        rules.upstreams[0].backend = .hub
        rules.secureSends = SecureSendRules(senders: shape.isSecure ? [.anyUser] : [], lifetime: .seconds(3600))
        rules.limiter = Limiter([], clocks: clock.clocks)
        rules.authenticators = AuthenticatorChain([
            .init(
                name: "waiting", credentialKinds: [.password, .bearer],
                authenticator: WaitingAuthenticator(moments: moments, issued: now))
        ])
        rules.policy.send.append(.init(from: .anyUser, to: .audience(audience)))
        rules.policy.audiences = [
            audience: (0..<(shape.members ?? 1)).map { UserName(canonical: "member\($0)")! }
        ]
        var dependencies = TestGateway.dependencies(
            clock: clock, ledger: ScriptedLedger(), sessions: sessions,
            journal: WaitingJournal(journal: journal, moments: moments),
            texts: WaitingTexts(texts: texts, moments: moments),
            backend: WaitingBackend(moments: moments, isQueue: shape.members != nil))
        if shape.key == .shared { dependencies.keyedSends = WaitingRegister(moments: moments) }
        gateway = Gateway(rules: rules, dependencies: dependencies)
    }

    func run() async -> WaitingSendRevocationTests.End {
        var end = WaitingSendRevocationTests.End()
        let response = await gateway.serve(send(.text("Bearer alices-token")))
        (end.status, end.challenges) = (response.status, response.values("WWW-Authenticate").count)
        moments.end(&end)
        end.intents = journal.records(.intent).count
        end.outcomes = journal.records(.outcome).count
        end.revokedOutcomes = journal.records(.outcome).count { $0.result == CallResult.revoked.rawValue }
        end.texts = texts.texts.count
        let again = await gateway.serve(send(.text("Basic YWxpY2U6c2VjcmV0")))
        end.wasReplayed = again.values("Idempotency-Replayed") == ["true"]
        return end
    }

    private func send(_ authorization: ReceivedRequest.FieldValue) -> ReceivedRequest {
        let recipient = shape.members == nil ? "bob" : "audience:oncall"
        return ReceivedRequest(
            "POST /api/notifications?pns=apns&to_tag=\(recipient)", authorization: authorization,
            contentType: .text("application/json"), idempotencyKey: shape.isKeyed ? .text("k-1") : .absent,
            body: Array("\"hi\"".utf8))
    }
}

private struct WaitingAuthenticator: Authenticator {
    let moments: Moments
    let issued: WallTime

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        let alice = UserName(canonical: "alice")!
        guard case .bearer = credential else { return .accepted(Identity(user: alice, authenticator: "waiting")) }
        moments.pass()
        return .accepted(
            Identity(
                user: alice, authenticator: "waiting",
                token: TokenReference(
                    id: "t-1", session: Case.session, issued: issued, expires: issued.adding(3_600_000_000),
                    provider: Case.login)))
    }
}

private struct WaitingRegister: KeyedSendRegister {
    let moments: Moments
    let register = MemoryKeyedSends()

    func insert(_ send: KeyedSend) async throws(LedgerUnavailable) -> KeyedSendState {
        moments.pass()
        let state = try await register.insert(send)
        moments.pass()
        return state
    }

    func complete(_ send: KeyedSend, number: UInt64, _ result: KeyedSendResult) {
        register.complete(send, number: number, result)
    }

    func removeAll(of user: UserName) async throws(LedgerUnavailable) { try await register.removeAll(of: user) }
}

private struct WaitingJournal: Journal {
    let journal: MemoryJournal
    let moments: Moments

    func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {
        moments.begin("recorded")
        moments.pass()
        try await journal.record(records)
        moments.pass()
    }

    func append(_ record: JournalRecord) { journal.append(record) }
}

private struct WaitingTexts: SecureTextStore {
    let texts: MemorySecureTexts
    let moments: Moments

    func reserve(_ text: NewSecureText) throws(SecureTextsFull) -> SecureTextReservation {
        let reservation = try texts.reserve(text)
        return SecureTextReservation(places: reservation.places, full: reservation.full) {
            _ throws(SecureTextsUnavailable) in
            moments.begin("stored")
            moments.pass()
            try await reservation.store()
            moments.pass()
        } release: { _ in
        }
    }

    func text(
        _ id: SecureID?, of user: UserName, now: WallTime
    ) async throws(SecureTextsUnavailable) -> SecureText? { try await texts.text(id, of: user, now: now) }

    func unfetched(
        by user: UserName, since: WallTime?, limit: Int, now: WallTime
    ) async throws(SecureTextsUnavailable) -> [UnfetchedText] { [] }

    func markFetched(_ id: SecureID, at now: WallTime) {}

    func remove(_ ids: [SecureID]) { texts.remove(ids) }
}

/// A backend that is slow. With a queue, a request also waits for a connection.
private struct WaitingBackend: Backend {
    let moments: Moments
    let isQueue: Bool

    func exchange(_ request: borrowing RecordedRequest) async -> BackendResult {
        if isQueue { moments.pass() }
        if let withdrawal = moments.write(request, isQueue: isQueue) { return .withdrawn(withdrawal) }
        moments.pass()
        return .status(201)
    }
}
