import GatewayCore
import GatewayTesting
import Testing

@testable import Gateway

@Suite("A store that another gateway may have taken over")
struct StoreTakeoverTests {
    /// Records calls. Once a send is recorded, another gateway may have taken over the store.
    private struct FreezingJournal: Journal {
        let journal: MemoryJournal
        let sessions: MemorySessions

        func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {
            try await journal.record(records)
            sessions.isCurrent = false
        }

        func append(_ record: JournalRecord) { journal.append(record) }
    }

    @Test("No credential is accepted meanwhile")
    func noCredential() async {
        let gateway = TestGateway()
        gateway.sessions.isCurrent = false
        await gateway.expect(.ledgerUnavailable, for: Sample.whoami)
        await gateway.expect(.ledgerUnavailable, for: Sample.send(to: "bob"))
        #expect(gateway.backend.requests.isEmpty)
        gateway.sessions.isCurrent = true
        #expect(await gateway.serve(Sample.whoami).status == 200)
    }

    @Test("A send that was authenticated before is not delivered, and its outcome is recorded", arguments: [false, true])
    func sendInProgress(toAudience: Bool) async {
        let clock = ManualClock()
        let sessions = MemorySessions(clock: clock)
        let (journal, backend) = (MemoryJournal(), ScriptedBackend(answering: ScriptedBackend.alwaysSucceeds))
        var rules = TestGateway.rules(clock: clock)
        let oncall = AudienceName("oncall")!
        rules.policy.send.append(.init(from: .anyUser, to: .audience(oncall)))
        rules.policy.audiences = [oncall: [UserName(canonical: "bob")!]]
        let gateway = Gateway(
            rules: rules,
            dependencies: TestGateway.dependencies(
                clock: clock, ledger: ScriptedLedger(), sessions: sessions,
                journal: FreezingJournal(journal: journal, sessions: sessions), backend: backend))
        let response = await gateway.serve(Sample.send("hi", to: toAudience ? "audience:oncall" : "bob"))
        // The response to an audience tells the numbers of its members.
        #expect(response.status == (toAudience ? 200 : 503))
        #expect(backend.requests.isEmpty)
        let intents = journal.records(.intent).map(\.facts)
        #expect(intents.count == 1)
        #expect(journal.records(.outcome).map(\.facts) == intents)
        #expect(journal.records(.outcome).first?.result == CallResult.ledgerUnavailable.rawValue)
    }
}
