import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

@Suite("Registrations of a revoked user")
struct RevokedRegistrationTests {
    @Test("A user who is revoked during a registration keeps no registration")
    func revokedMeanwhile() async throws {
        let alice = UserName(canonical: "alice")!
        let sessions = Mutex<MemorySessions?>(nil)
        let bench = TokenFixture(
            deciding: { _ in .own(Sample.other) },
            answering: { request in
                sessions.withLock { $0 }?.revoke(alice)
                return await ScriptedBackend.alwaysSucceeds(request)
            })
        sessions.withLock { $0 = bench.sessions }
        let response = await bench.gateway.serve(Sample.put())
        #expect(response.code == .credentialsRejected)
        #expect(!response.values("WWW-Authenticate").isEmpty)
        #expect(try await bench.ledger.pendingDeletion(limit: 10) == [Sample.other])
        #expect(bench.journal.records(.outcome).map(\.result) == ["revoked"])
        // The user is not revoked during this call.
        sessions.withLock { $0 = nil }
        #expect(await bench.gateway.serve(Sample.put()).status == 200)
        #expect(try await bench.ledger.pendingDeletion(limit: 10) == [Sample.other])
    }

    /// Returns a gateway with a session of alice. The session ends when a closure calls its argument.
    private func session(
        deciding decide: @escaping @Sendable (LedgerRequest, @Sendable () -> Void) -> LedgerDecision,
        answering response: @escaping @Sendable (CapturedRequest, @Sendable () -> Void) -> Void = { _, _ in }
    ) async throws -> (TokenFixture, String) {
        let ends = Mutex<@Sendable () -> Void>({})
        let end: @Sendable () -> Void = { ends.withLock { $0 }() }
        let bench = TokenFixture(
            deciding: { decide($0, end) },
            answering: { request in
                response(request, end)
                return await ScriptedBackend.alwaysSucceeds(request)
            })
        let login = await bench.call("POST /auth/token", as: "alice")
        let token = try #require(login.json?["access_token"]?.string)
        let id = try #require(login.json?["session"]?.string.flatMap(SessionID.init))
        let sessions = bench.sessions
        ends.withLock { $0 = { sessions.deleteNow(id, of: UserName(canonical: "alice")!) } }
        return (bench, token)
    }

    private func put(_ bench: TokenFixture, _ token: String) async -> Response {
        await bench.call("PUT /api/register/\(Sample.label)", token: token, body: Sample.body())
    }

    @Test("A session that ends while its call waits for the ledger registers nothing and sends nothing to the backend")
    func endedBeforeTheRecord() async throws {
        let (bench, token) = try await session(deciding: { request, end in
            end()
            return .own(Sample.other)
        })
        let intents = bench.journal.records(.intent).count
        let response = await put(bench, token)
        #expect(response.code == .credentialsRejected && response.status == 401)
        #expect(bench.backend.requests.isEmpty)
        #expect(bench.journal.records(.intent).count == intents)
        #expect(bench.ledger.openClaims == 0 && bench.ledger.changes.isEmpty)
    }

    @Test("A session that ends between the two requests of a first registration leaves an id without a device")
    func endedBeforeTheUpdate() async throws {
        let (bench, token) = try await session(
            deciding: { _, _ in .notRegistered }, answering: { request, end in if request.method == "POST" { end() } })
        let response = await put(bench, token)
        #expect(response.code == .credentialsRejected)
        #expect(bench.backend.requests.map(\.method) == ["POST"])
        #expect(bench.journal.records(.outcome).last?.result == "revoked")
        #expect(bench.ledger.openClaims == 0)
    }

    @Test("A device whose session ends while the backend registers it is marked for deletion")
    func endedBeforeTheAnswer() async throws {
        let (bench, token) = try await session(
            deciding: { _, _ in .rotation(Sample.other) },
            answering: { request, end in if request.method == "PUT" { end() } })
        #expect(await put(bench, token).code == .credentialsRejected)
        #expect(bench.ledger.changes.last == .registered(Sample.other, replacing: nil))
        #expect(try await bench.ledger.pendingDeletion(limit: 10) == [Sample.other])
        #expect(bench.journal.records(.outcome).last?.result == "revoked")
    }

    @Test("A sweep deletes a marked registration in its owner's name, records it and keeps the mark after a failure")
    func sweep() async throws {
        let bob = UserName(canonical: "bob")!
        let bench = TokenFixture(deciding: { request in
            if case .sweep(let id) = request { .pendingDeletion(id, owner: bob, because: .revoked) } else { .notOwned }
        })
        let call = CallID(process: 1, number: 1)
        #expect(await bench.gateway.sweep(Sample.other, as: call))
        #expect(bench.backend.requests.map(\.method) == ["DELETE"])
        #expect(bench.journal.records.map(\.kind) == [.intent, .outcome])
        let facts = try #require(bench.journal.records(.outcome).first?.facts)
        #expect(facts.user == bob)
        #expect(facts.registration == Sample.other)
        #expect(facts.rule == "revoked")
        #expect(facts.peer == .gateway)
        #expect(bench.ledger.changes == [.deleted(Sample.other)])
        let notMarked = TokenFixture(deciding: { _ in .notMarked })
        #expect(await notMarked.gateway.sweep(Sample.other, as: call))
        #expect(notMarked.backend.requests.isEmpty)
        let broken = TokenFixture(
            deciding: { _ in .pendingDeletion(Sample.other, owner: bob, because: .surplus) },
            answering: { _ in .timedOut })
        #expect(await !broken.gateway.sweep(Sample.other, as: call))
        #expect(broken.ledger.changes == [.deletionUnanswered(Sample.other)])
        let unrecorded = TokenFixture(deciding: { _ in .pendingDeletion(Sample.other, owner: bob, because: .givenUp) })
        unrecorded.journal.fail(JournalUnavailable("full"))
        #expect(await !unrecorded.gateway.sweep(Sample.other, as: call))
        #expect(unrecorded.backend.requests.isEmpty)
    }
}
