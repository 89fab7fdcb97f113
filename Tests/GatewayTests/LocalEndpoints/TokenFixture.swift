import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

/// A gateway with a token issuer, whose users have the passwords of `TestGateway`.
final class TokenFixture: Sendable {
    let clock = ManualClock()
    let timeline = Timeline()
    let journal: MemoryJournal
    let sessions: MemorySessions
    let issuer: TestIssuer
    let backend: ScriptedBackend
    let ledger: ScriptedLedger
    let gateway: Gateway

    init(
        deciding decide: @escaping @Sendable (LedgerRequest) -> LedgerDecision = ScriptedLedger.emptyLedgerDecision,
        answering response: @escaping @Sendable (CapturedRequest) async -> BackendResult = ScriptedBackend
            .alwaysSucceeds,
        adjust: (inout CompiledConfiguration) -> Void = { _ in }
    ) {
        journal = MemoryJournal(timeline: timeline)
        sessions = MemorySessions(clock: clock)
        issuer = TestIssuer(revocations: sessions)
        backend = ScriptedBackend(timeline: timeline, answering: response)
        ledger = ScriptedLedger(timeline: timeline, deciding: decide)
        var rules = TestGateway.rules(clock: clock)
        let passwords = FixedAuthenticator(
            passwords: Dictionary(
                uniqueKeysWithValues: TestGateway.users.map { ($0, TestGateway.password(of: $0)) }),
            groups: ["alice": [GroupName("dispatch")!]])
        rules.authenticators = AuthenticatorChain([
            .init(name: FixedAuthenticator.name, credentialKinds: [.password], authenticator: passwords),
            .init(name: TestIssuer.name, credentialKinds: [.bearer], authenticator: issuer),
        ])
        adjust(&rules)
        var dependencies = TestGateway.dependencies(
            clock: clock, ledger: ledger, sessions: sessions, journal: journal, backend: backend)
        dependencies.randomness = Counter().next
        gateway = Gateway(rules: rules, dependencies: dependencies)
    }

    /// A counter for the ids of sessions, which must differ.
    private final class Counter: Sendable {
        private let number = Atomic<UInt64>(0)

        @Sendable func next() -> UInt64 { number.add(1, ordering: .relaxed).newValue }
    }

    func call(_ line: String, as user: String? = nil, token: String? = nil, body: String = "") async -> Response {
        let field = token.map { ReceivedRequest.FieldValue.text("Bearer \($0)") }
        return await gateway.serve(
            ReceivedRequest(
                line, as: user, authorization: field,
                contentType: body.isEmpty ? .absent : .text("application/json"), body: Array(body.utf8)))
    }

    /// Exchanges the user's password for a token and returns the token's session.
    func login(_ user: String = "alice", device: String? = nil) async throws -> SessionID {
        let body = device.map { "{\"device\":\"\($0)\"}" } ?? ""
        let response = await call("POST /auth/token", as: user, body: body)
        return try #require(response.json?["session"]?.string.flatMap(SessionID.init))
    }
}
