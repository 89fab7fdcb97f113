import Gateway
import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import Synchronization
import Testing

@testable import GatewayOperations

/// A device that registers while its token is revoked, with stores on disk and concurrent calls.
@Suite("Registration and revocation of its token", .timeLimit(.minutes(10)))
struct EndedTokenRaceTests {
    private static let tries = TestRun.count(full: 1500, otherwise: 150)

    /// A backend that assigns unique registration ids and tracks the stage of the registration.
    private final class Backend: Sendable {
        /// The stages of a registration in order.
        enum Stage: Int, CaseIterable { case begun, reserving, updating, ended }

        private let number = Atomic(0)
        private let stage = AwaitableValue(Stage.begun)

        func enter(_ stage: Stage) { self.stage.withLock { $0 = stage } }

        /// Returns when the registration has reached the stage.
        func wait(for stage: Stage) async { await self.stage.wait { $0.rawValue >= stage.rawValue } }

        @Sendable func answer(_ request: CapturedRequest) async -> BackendResult {
            enter(request.method == "POST" ? .reserving : .updating)
            // The random yields vary the order of the calls and await nothing.
            for _ in 0..<Int.random(in: 0..<8) { await Task.yield() }
            guard request.method == "POST" else { return .status(200) }
            let number = number.add(1, ordering: .relaxed).newValue
            return .status(200, "\"\(number)-\(number)-1\"")
        }
    }

    private static func request(_ line: String, token: String, body: String = "") -> ReceivedRequest {
        ReceivedRequest(
            line, authorization: .text("Bearer \(token)"),
            contentType: body.isEmpty ? .absent : .text("application/json"), body: Array(body.utf8))
    }

    private static func gateway(
        _ bench: AccountFixture, _ backend: Backend, _ users: [String]
    ) -> Gateway {
        var rules = TestGateway.rules(clock: bench.clock)
        let passwords = FixedAuthenticator(
            passwords: Dictionary(uniqueKeysWithValues: users.map { ($0, TestGateway.password(of: $0)) }))
        // The authenticator reports accounts only at logins, so each registration must name its account.
        rules.authenticators = AuthenticatorChain([
            .init(name: FixedAuthenticator.name, credentialKinds: [.password], authenticator: passwords),
            .init(
                name: TestIssuer.name, credentialKinds: [.bearer],
                authenticator: TestIssuer(revocations: bench.sessions)),
        ])
        rules.limiter = Limiter([], clocks: bench.clock.clocks)
        var dependencies = TestGateway.dependencies(
            clock: bench.clock, ledger: bench.ledger, sessions: bench.sessions, journal: bench.journal,
            backend: ScriptedBackend(answering: backend.answer))
        dependencies.randomness = { .random(in: 0 ... .max) }
        return Gateway(rules: rules, dependencies: dependencies)
    }

    @Test("A registration during the revocation of its token fails or belongs to a known account")
    func race() async throws {
        let users = (0..<Self.tries).map { "user\($0)" }
        let bench = try AccountFixture(TestFiles())
        let backend = Backend()
        let gateway = Self.gateway(bench, backend, users)
        var registered: Set<UserName> = []
        for (number, user) in users.enumerated() {
            let login = await gateway.serve(ReceivedRequest("POST /auth/token", as: user))
            let token = try #require(login.json?["access_token"]?.string, "\(login)")
            let handle = String(repeating: "A", count: 54) + String(1_000_000_000 + number)
            let put = Self.request(
                "PUT /api/register/1-2-3", token: token,
                body: #"{"Platform":"apns","Handle":"\#(handle)","Tags":[]}"#)
            // The order of the two calls is random: the revocation begins at any stage of the registration.
            let stage = try #require(Backend.Stage.allCases.randomElement())
            let pause = Int.random(in: 0..<40)
            backend.enter(.begun)
            async let registration = Task.detached {
                let status = await gateway.serve(put).status
                backend.enter(.ended)
                return status
            }.value
            async let end = Task.detached {
                await backend.wait(for: stage)
                for _ in 0..<pause { await Task.yield() }
                return await gateway.serve(Self.request("DELETE /auth/token", token: token)).status
            }.value
            let (status, ended) = await (registration, end)
            #expect(ended == 204 && [200, 401].contains(status), "try \(number): \(ended) \(status)")
            let name = try #require(UserName(canonical: user))
            let devices = try await bench.ledger.registrations(of: name).filter { $0.state == .live }
            #expect(devices.count == (status == 200 ? 1 : 0), "try \(number): \(status) \(devices)")
            if !devices.isEmpty { registered.insert(name) }
        }
        let accounts = try await bench.sessions.registeringAccounts()
        #expect(Set(accounts.map(\.user)) == registered)
        #expect(accounts.allSatisfy { $0.authenticator == FixedAuthenticator.name })
        print("\(registered.count) of \(Self.tries) registrations completed before the revocation of their token")
        // A race that one call always wins would test nothing.
        #expect((1..<Self.tries).contains(registered.count))
    }
}
