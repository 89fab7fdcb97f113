import GatewayCore
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

@Suite("Registrations of whoever is revoked")
struct RevokedRegistrationTests {
    @Test("Whoever is revoked while it registers keeps nothing of it")
    func revokedMeanwhile() async throws {
        let alice = UserName(canonical: "alice")!
        let sessions = Mutex<MemorySessions?>(nil)
        let bench = TokenBench(
            deciding: { _ in .own(Sample.other) },
            answering: { request in
                sessions.withLock { $0 }?.revoke(alice)
                return await ScriptedBackend.isContent(request)
            })
        sessions.withLock { $0 = bench.sessions }
        let answer = await bench.gateway.serve(Sample.put())
        #expect(answer.code == .credentialsRejected)
        #expect(!answer.values("WWW-Authenticate").isEmpty)
        #expect(try await bench.ledger.doomed(limit: 10) == [Sample.other])
        #expect(bench.journal.records(.outcome).map(\.result) == ["revoked"])
        // Nobody was revoked meanwhile.
        sessions.withLock { $0 = nil }
        #expect(await bench.gateway.serve(Sample.put()).status == 200)
        #expect(try await bench.ledger.doomed(limit: 10) == [Sample.other])
    }

    @Test("What is marked is deleted at the backend in its owner's name, recorded, and kept marked where that fails")
    func sweep() async throws {
        let bob = UserName(canonical: "bob")!
        let bench = TokenBench(deciding: { request in
            if case .sweep(let id) = request { .doomed(id, owner: bob, because: .revoked) } else { .notOwned }
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
        let spared = TokenBench(deciding: { _ in .spared })
        #expect(await spared.gateway.sweep(Sample.other, as: call))
        #expect(spared.backend.requests.isEmpty)
        let broken = TokenBench(
            deciding: { _ in .doomed(Sample.other, owner: bob, because: .surplus) }, answering: { _ in .timedOut })
        #expect(await !broken.gateway.sweep(Sample.other, as: call))
        #expect(broken.ledger.changes == [.deleting(Sample.other)])
        let unrecorded = TokenBench(deciding: { _ in .doomed(Sample.other, owner: bob, because: .givenUp) })
        unrecorded.journal.refuse(JournalUnavailable("full"))
        #expect(await !unrecorded.gateway.sweep(Sample.other, as: call))
        #expect(unrecorded.backend.requests.isEmpty)
    }
}
