import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayStore

@Suite(
    "Commits that a fail-over has lost", .serialized, .timeLimit(.minutes(5)),
    .enabled(if: PostgreSQLServer.isInstalled))
struct LostCommitTests {
    /// The server of these tests alone, which end all connections of gateways.
    private static let server = try? PostgreSQLServer()
    private let shared: SharedStore
    private let store: PostgreSQLStore
    private let ledger: StoredLedger
    private let register: SessionRegister

    init() throws {
        shared = try SharedStore(Self.server)
        store = try shared.open(shared.first)
        ledger = StoredLedger(store)
        register = try SessionRegister(ledger, clocks: shared.clock.clocks)
    }

    /// Makes the store what a standby has that did not get the last commit of a connection.
    private func loseCommit(_ lane: String) throws {
        try shared.run("UPDATE node_commit SET number = number - 1 WHERE lane = '\(lane)'")
    }

    /// Closes the connections of the gateway, as the end of a server does.
    private func disconnect() throws {
        try shared.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'notify-gateway %'")
    }

    @Test(
        "The loss of any commit is found by the next transaction of its connection, and the next start is one of a restore"
    )
    func ownConnection() async throws {
        try await ledger.recordImport(now: shared.clock.clocks.wall())
        try loseCommit("ledger")
        await #expect(throws: LedgerUnavailable.self) {
            try await ledger.recordImport(now: shared.clock.clocks.wall())
        }
        #expect(ledger.isLost && ledger.lossReason?.contains("older copy") == true)
        #expect(!register.isCurrent)
        try ledger.close()
        let again = StoredLedger(try shared.open(shared.first))
        #expect(try again.pendingRestore()?.isFirst == true)
        try again.close()
    }

    @Test("A gateway that changes nothing finds the loss when it reads again", arguments: AcknowledgedCommits.lanes)
    func reading(lane: String) async throws {
        let keyedSends = PostgreSQLKeyedSends(store)
        let texts = try StoredSecureTexts(store)
        switch lane {
        case "keyed-sends": _ = try await keyedSends.insert(KeyedSendFixture.send(1))
        case "texts": _ = try await texts.removeExpired(at: shared.clock.clocks.wall())
        default: try await ledger.recordImport(now: shared.clock.clocks.wall())
        }
        #expect(await register.refresh())
        try loseCommit(lane)
        try disconnect()
        // The first reading may meet the connection that has ended.
        while await register.refresh() {}
        while !ledger.isLost { _ = await register.refresh() }
        #expect(ledger.lossReason?.contains("older copy") == true)
        keyedSends.close()
        try texts.close()
        try ledger.close()
    }

    @Test(
        "A gateway that is stopped after the loss, or whose start was lost too, starts as after a restore",
        arguments: [false, true])
    func stopped(losesStart: Bool) async throws {
        try await ledger.recordImport(now: shared.clock.clocks.wall())
        if losesStart {
            // Another gateway has got the same number on the new primary.
            try shared.run("UPDATE node SET fence = fence - 1")
            let other = StoredLedger(try shared.open(shared.second))
            await #expect(throws: LedgerUnavailable.self) {
                try await ledger.recordImport(now: shared.clock.clocks.wall())
            }
            #expect(ledger.lossReason?.contains("older copy") == true)
            try other.close()
            try ledger.close()
        } else {
            try loseCommit("ledger")
            // The feed may find it first.
            #expect(throws: (any Error).self) {
                try ledger.close()
                if ledger.lossReason?.contains("older copy") == true { throw CancellationError() }
            }
        }
        let again = StoredLedger(try shared.open(shared.first))
        #expect(try again.pendingRestore()?.isFirst == true)
        try again.close()
    }

    @Test("A commit whose outcome is unknown is no loss, whether it was stored or not")
    func unknownOutcome() async throws {
        try await ledger.recordImport(now: shared.clock.clocks.wall())
        _ = store.node.commits.begin("ledger")
        try await ledger.recordImport(now: shared.clock.clocks.wall())
        try shared.run("UPDATE node_commit SET number = number + 1 WHERE lane = 'ledger'")
        try await ledger.recordImport(now: shared.clock.clocks.wall())
        try disconnect()
        while await !register.refresh() { #expect(!ledger.isLost) }
        try await ledger.recordImport(now: shared.clock.clocks.wall())
        #expect(!ledger.isLost)
        try ledger.close()
    }

    @Test("After a fail-over nothing is changed until every live gateway has found its commits")
    func otherGateway() async throws {
        #expect(await register.refresh())
        try await ledger.recordImport(now: shared.clock.clocks.wall())
        // A gateway that uses another timeline, and is live.
        try shared.run(
            """
            INSERT INTO node (instance, host, program, fence, started, until, is_exclusive, applied, timeline)
            VALUES ('silent', 'silent', '', 1, 0, 9000000000000000, FALSE, 0, 'before')
            """)
        // While there was no fail-over, a gateway that starts does not matter.
        #expect(await register.refresh())
        try await ledger.recordImport(now: shared.clock.clocks.wall())
        store.node.confirm(timeline: "before")
        let refused = await #expect(throws: LedgerUnavailable.self) {
            try await ledger.recordImport(now: shared.clock.clocks.wall())
        }
        #expect(refused?.detail.contains("fail-over") == true)
        #expect(await register.refresh())
        await #expect(throws: LedgerUnavailable.self) {
            try await ledger.recordImport(now: shared.clock.clocks.wall())
        }
        #expect(!ledger.isLost && register.isCurrent)
        try shared.run("UPDATE node SET timeline = (SELECT max(timeline) FROM node WHERE instance <> 'silent')")
        #expect(await register.refresh())
        try await ledger.recordImport(now: shared.clock.clocks.wall())
        // A gateway of an earlier version tells no timeline, and one that is gone is not waited for.
        for change in ["timeline = NULL", "timeline = 'before', until = 0"] {
            store.node.confirm(timeline: "before")
            try shared.run("UPDATE node SET \(change) WHERE instance = 'silent'")
            #expect(await register.refresh())
            try await ledger.recordImport(now: shared.clock.clocks.wall())
        }
        try ledger.close()
    }

    @Test("A restore is complete once the journal of each gateway was compared")
    func eachJournal() async throws {
        let now = shared.clock.clocks.wall()
        let bob = LedgerFixture.bob
        try ledger.recordRestore(now: now)
        // A gateway that was known before the restore.
        try shared.open(shared.second).close(isUsable: true)
        let pending = try #require(try ledger.pendingRestore())
        let first = try ledger.complete(pending, sessionsBeingDeleted: true, JournaledRegistrations())
        #expect(first.uncompared.count == 1)
        #expect(try ledger.pendingRestore() == nil)
        try ledger.close()
        // A further start of the first one has nothing to do.
        let again = StoredLedger(try shared.open(shared.first))
        #expect(try again.pendingRestore() == nil)
        let session = Session(
            id: SessionID(random: (1, 1)), user: bob, login: LoginName("bob"), authenticator: "pam", device: nil,
            began: now, ends: WallTime(seconds: now.seconds + 60), renewed: now)
        let sessions = try SessionRegister(again, clocks: shared.clock.clocks)
        #expect(try await sessions.start(session, since: sessions.epoch))
        let other = StoredLedger(try shared.open(shared.second))
        let late = try #require(try other.pendingRestore())
        #expect(late == PendingRestore(since: pending.since, isFirst: false))
        let lines = [
            #"{"seq":1,"at":"2026-11-18T12:00:00.000000Z","kind":"outcome","call":"a","action":"register-update","user":"alice","registration":"1-1-1","result":"accepted"}"#,
            #"{"seq":2,"at":"2026-11-18T12:00:00.000000Z","kind":"operator","call":"f","action":"operator-revoke","user":"alice","result":"accepted","operator":0}"#,
        ]
        let directory = TemporaryDirectory()
        try PrivateFiles.makeDirectory(directory.path)
        try directory.write(
            Array((lines.joined(separator: "\n") + "\n").utf8), to: JournalSegmentName(first: 1).text)
        let journaled = try JournaledRegistrations(directory: directory.path, since: WallTime(seconds: 0))
        let completed = try other.complete(late, sessionsBeingDeleted: true, journaled)
        #expect(completed == LedgerRestore(endedSessions: 0, markedRegistrations: 1, uncompared: []))
        // The session that began after the restore stays, and the device that only the second journal knows is deleted.
        #expect(await sessions.refresh())
        #expect(sessions.session(session.id) != nil && !again.isLost)
        #expect(try await other.pendingDeletion(limit: 9) == [LedgerFixture.id(1)])
        #expect(try other.pendingRestore() == nil && again.pendingRestore() == nil)
        try other.close()
        try again.close()
    }

    @Test(
        "After a restore a keyed send that only the journal knows is not made again, unless it certainly was not made")
    func keyedSends() async throws {
        let keyedSends = PostgreSQLKeyedSends(store)
        func journaled(_ key: UInt8, _ results: [CallResult]) -> IdempotentSend {
            let send = KeyedSendFixture.send(key)
            return IdempotentSend(
                user: send.user, target: send.target, service: send.service, key: send.key, message: send.message,
                at: Clocks.system.wall(), results: results, skipped: 0, intents: 1)
        }
        let stored = KeyedSendFixture.send(9)
        guard case .inserted(let number) = try await keyedSends.insert(stored) else { return }
        keyedSends.complete(stored, number: number, .completed(.accepted, response: [1]))
        try keyedSends.restore([
            journaled(1, [.accepted]), journaled(2, []), journaled(3, [.backendUnreachable]), journaled(9, [.accepted]),
        ])
        #expect(try await keyedSends.insert(KeyedSendFixture.send(1)) == .unknown)
        #expect(try await keyedSends.insert(KeyedSendFixture.send(2)) == .unknown)
        guard case .inserted = try await keyedSends.insert(KeyedSendFixture.send(3)) else {
            Issue.record("a send that was not made cannot be made")
            return
        }
        #expect(try await keyedSends.insert(stored) == .completed(.accepted, response: [1]))
        keyedSends.close()
        try ledger.close()
    }

    @Test(
        "Until the journals of all gateways were compared with a restored store, no keyed send is made that may be in one"
    )
    func awaitsJournals() async throws {
        let (keyedSends, other) = (PostgreSQLKeyedSends(store), PostgreSQLKeyedSends(store))
        let stored = try await KeyedSendFixture.insert(KeyedSendFixture.send(1), in: keyedSends)
        func compare(until offset: Int64) throws {
            try ledger.database.write { transaction in
                try transaction.execute(
                    sql: """
                        INSERT INTO property (name, value)
                        VALUES ('\(LedgerTables.comparisonEnd)', convert_to((\(StoreNode.now) + \(offset))::text, 'UTF8'))
                        ON CONFLICT (name) DO UPDATE SET value = excluded.value
                        """)
            }
        }
        keyedSends.awaitJournals()
        // All journals were compared before the end of the time.
        _ = try await KeyedSendFixture.insert(KeyedSendFixture.send(2), in: keyedSends)
        try compare(until: 600_000_000)
        await #expect(throws: LedgerUnavailable.self) { try await keyedSends.insert(KeyedSendFixture.send(3)) }
        keyedSends.complete(KeyedSendFixture.send(1), number: stored, .completed(.accepted, response: [1]))
        // A send that is stored is answered.
        #expect(try await keyedSends.insert(KeyedSendFixture.send(2)) == .inFlight)
        // The gateway whose journal was compared last waits for nothing.
        _ = try await KeyedSendFixture.insert(KeyedSendFixture.send(4), in: other)
        try compare(until: 0)
        _ = try await KeyedSendFixture.insert(KeyedSendFixture.send(3), in: keyedSends)
        keyedSends.close()
        other.close()
        try ledger.close()
    }
}
