import Gateway
import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import Synchronization
import Testing

@testable import GatewayOperations

@Suite("Account monitor")
struct AccountMonitorTests {
    @Test("An account that is removed, expires or gets another password loses its session once, with a record")
    func ends() async throws {
        let files = try TestFiles()
        let bench = try AccountFixture(files)
        let soon = WallTime(seconds: bench.clock.clocks.wall().seconds + 60)
        bench.accounts.list(
            [AccountFixture.alice: "a", AccountFixture.bob: "b"], expiries: [AccountFixture.alice: soon])
        await bench.watch.compare()
        let (first, second) = (try await bench.login(AccountFixture.alice), try await bench.login(AccountFixture.bob))
        // Nothing has changed, so the monitor does not read the list.
        await bench.watch.compare()
        #expect(bench.accounts.verificationCount.load(ordering: .relaxed) == 1)
        #expect(bench.journal.records.isEmpty)

        bench.accounts.list(
            [AccountFixture.alice: "a", AccountFixture.bob: "other"], expiries: [AccountFixture.alice: soon])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(bench.sessions.session(second) == nil)
        #expect(bench.sessions.session(first) != nil)
        #expect(bench.journal.records.map(\.result) == ["password-changed"])

        bench.clock.advance(by: .seconds(60))
        await bench.watch.compare()
        #expect(bench.sessions.session(first) == nil)
        #expect(bench.journal.records.map(\.result) == ["password-changed", "account-ended"])
        #expect(bench.journal.records.map(\.kind) == [.operator, .operator])
        #expect(bench.journal.records.map(\.facts?.user) == [AccountFixture.bob, AccountFixture.alice])
        await bench.watch.compare()
        #expect(bench.journal.records.count == 2)
    }

    @Test("Only the end of an account drops its idempotency keys, not a new password or a revocation by an operator")
    func idempotencyKeys() async throws {
        let bench = try AccountFixture(TestFiles())
        bench.accounts.list([AccountFixture.alice: "a", AccountFixture.bob: "b"])
        await bench.watch.compare()
        let digest = try #require(KeyedDigest([UInt8](repeating: 1, count: 16)))
        for user in [AccountFixture.alice, AccountFixture.bob] {
            bench.revocation.sends.restore(
                IdempotentSend(
                    user: user, target: "carol", service: .apns, key: digest, message: digest,
                    at: bench.clock.clocks.wall(), results: [.accepted], skipped: 0, intents: 1),
                at: bench.clock.clocks.wall())
        }
        bench.accounts.list([AccountFixture.alice: "a", AccountFixture.bob: "other"])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(bench.journal.records.map(\.result) == ["password-changed"])
        try await bench.revocation.revokeWithoutRecord(AccountFixture.bob, because: .byOperator)
        #expect(bench.revocation.sends.count == 2)
        bench.accounts.list([AccountFixture.alice: "a"])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(bench.revocation.sends.count == 1)
        try await bench.revocation.revoke(AccountFixture.alice, because: .ended, authenticator: "list")
        #expect(bench.revocation.sends.count == 0)
    }

    @Test("A user who loses a group keeps the session, and the tokens lose the group at the next comparison")
    func groups() async throws {
        let bench = try AccountFixture(TestFiles())
        let (dispatch, sales) = (GroupName("dispatch")!, GroupName("sales")!)
        bench.accounts.list([AccountFixture.alice: "a", AccountFixture.bob: "b"])
        bench.accounts.put([AccountFixture.alice: [dispatch, sales], AccountFixture.bob: [dispatch]])
        await bench.watch.compare()
        let session = try await bench.login(AccountFixture.alice)
        let now = bench.clock.clocks.wall()
        func groups(_ session: SessionID?) -> Set<GroupName>? {
            bench.sessions.groups(
                behind: TokenReference(id: "t", session: session, issued: now, expires: now), of: AccountFixture.alice)
        }
        #expect(groups(session) == [dispatch, sales] && groups(nil) == [dispatch, sales])
        bench.accounts.put([AccountFixture.alice: [sales], AccountFixture.bob: [dispatch, sales]])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(groups(session) == [sales] && groups(nil) == [sales])
        #expect(bench.sessions.session(session) != nil)
        #expect(bench.journal.records.map(\.result) == ["groups-lost"])
        #expect(bench.journal.records.map(\.facts?.user) == [AccountFixture.alice])
        // A concurrent login used the previous list. The groups of the current list apply.
        bench.sessions.storeGroups(
            [dispatch, sales], of: Account(user: AccountFixture.alice, login: LoginName("alice"), authenticator: "list")
        )
        #expect(groups(session) == [sales])
        // The group is lost in memory although the ledger fails.
        try bench.ledger.close()
        bench.accounts.list([AccountFixture.alice: "other"])
        bench.accounts.put([:])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(groups(nil) == [])
        await bench.watch.watch([])
        #expect(groups(nil) == nil)
    }

    @Test("A user who was removed while the gateway was stopped has lost all grants before the first call")
    func restart() async throws {
        let files = try TestFiles()
        do {
            let bench = try AccountFixture(files)
            bench.accounts.list([AccountFixture.alice: "a", AccountFixture.bob: "b"])
            await bench.watch.compare()
            _ = try await bench.login(AccountFixture.alice)
            _ = try await bench.login(AccountFixture.bob)
            try bench.ledger.close()
        }
        let bench = try AccountFixture(files)
        bench.accounts.list([AccountFixture.bob: "b"])
        #expect(bench.sessions.allSessions.count == 2)
        await bench.watch.compare()
        #expect(bench.sessions.allSessions.map(\.user) == [AccountFixture.bob])
        #expect(bench.journal.records.map(\.result) == ["account-ended"])
        bench.accounts.list([AccountFixture.alice: "a", AccountFixture.bob: "b"])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(bench.sessions.sessions(of: AccountFixture.alice).isEmpty)
        #expect(bench.journal.records.count == 1)
    }

    @Test("The monitor retries a revocation that the ledger could not write")
    func again() async throws {
        let files = try TestFiles()
        let bench = try AccountFixture(files)
        bench.accounts.list([AccountFixture.alice: "a"])
        await bench.watch.compare()
        let session = try await bench.login(AccountFixture.alice)
        try bench.ledger.close()
        bench.accounts.list([AccountFixture.bob: "b"])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        // The revocation is already effective in memory.
        #expect(bench.sessions.session(session) == nil)
        let asked = bench.accounts.verificationCount.load(ordering: .relaxed)
        await bench.watch.compare()
        #expect(bench.accounts.verificationCount.load(ordering: .relaxed) == asked + 1)
    }

    @Test("The sweeper retries a failed deletion at growing intervals and sweeps a new one immediately")
    func sweeper() async throws {
        let ledger = ScriptedLedger()
        let ids = [RegistrationID("1-1-1")!, RegistrationID("2-2-2")!]
        ledger.markForDeletion(ids)
        let sweeper = RegistrationSweeper(
            ledger: ledger, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var waits = SweepBackoff()
        let start = ContinuousClock.now
        func dueIDs(after seconds: Int) async -> [RegistrationID] {
            let now = start + .seconds(seconds)
            let due = await sweeper.due(by: &waits, now)
            for id in due { waits.finish(id, isDone: id == ids[1], isClaimed: false, now) }
            return due
        }
        #expect(await dueIDs(after: 0) == ids)
        #expect(await dueIDs(after: 0) == [ids[1]])
        #expect(await dueIDs(after: 1).contains(ids[0]))
        #expect(await !dueIDs(after: 2).contains(ids[0]))
        #expect(await dueIDs(after: 3).contains(ids[0]))
        #expect(await !dueIDs(after: 6).contains(ids[0]))
        #expect(await dueIDs(after: 7).contains(ids[0]))
        #expect(waits.count == 1)
        ledger.markForDeletion([])
        #expect(await dueIDs(after: 100).isEmpty)
        #expect(waits.count == 0)
    }

    @Test(
        "A slow deletion delays no other, and a deletion that a call blocks is due when the call ends"
    )
    func slowSweeps() async throws {
        let ledger = ScriptedLedger()
        let ids = (1...20).compactMap { RegistrationID("\($0 + 10)-1-1") }
        ledger.markForDeletion(Array(ids.prefix(2)))
        let sweeper = RegistrationSweeper(
            ledger: ledger, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var waits = SweepBackoff()
        let now = ContinuousClock.now
        #expect(await sweeper.due(by: &waits, now) == Array(ids.prefix(2)))
        // These two are still in progress. Others start, up to the limit.
        #expect(await sweeper.due(by: &waits, now).isEmpty)
        ledger.markForDeletion(ids)
        let more = await sweeper.due(by: &waits, now)
        #expect(more == Array(ids[2..<RegistrationSweeper.maximumInProgress]))
        #expect(await sweeper.due(by: &waits, now).isEmpty)
        // A call holds the first registration.
        let claim = try await ledger.begin(
            .delete(user: AccountFixture.alice, label: ids[0]), now: WallTime(seconds: 0))
        waits.finish(ids[0], isDone: false, isClaimed: ledger.isClaimed(ids[0]), now)
        waits.finish(ids[1], isDone: true, isClaimed: false, now)
        #expect(await sweeper.due(by: &waits, now) == [ids[1], ids[16]])
        waits.finish(ids[1], isDone: true, isClaimed: false, now)
        Self.drop(claim)
        #expect(await sweeper.due(by: &waits, now) == [ids[0]])
    }

    @Test("A revocation finds a place, however many deletions of another kind are in progress")
    func placesOfRevocations() async throws {
        let ledger = ScriptedLedger()
        let ids = (1...40).compactMap { RegistrationID("\($0 + 10)-1-1") }
        let sweeper = RegistrationSweeper(
            ledger: ledger, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var waits = SweepBackoff()
        let now = ContinuousClock.now
        let places = RegistrationSweeper.maximumInProgress - RegistrationSweeper.placesOfRevocations
        ledger.markForDeletion(ids, isRevoked: false)
        #expect(await sweeper.due(by: &waits, now) == Array(ids.prefix(places)))
        #expect(await sweeper.due(by: &waits, now).isEmpty)
        ledger.markForDeletion(Array(ids.suffix(20)))
        #expect(
            await sweeper.due(by: &waits, now)
                == Array(ids.suffix(20).prefix(RegistrationSweeper.placesOfRevocations)))
        #expect(waits.inProgress == RegistrationSweeper.maximumInProgress)
    }

    @Test("The sweeper deletes all that is marked, in the order of the ledger, and what is marked meanwhile")
    func run() async throws {
        let ledger = ScriptedLedger()
        let ids = (1...300).compactMap { RegistrationID("\($0)-1-1") }
        ledger.markForDeletion(Array(ids.prefix(299)), isRevoked: false)
        let marked = Mutex(Array(ids.prefix(299)))
        let sweeper = RegistrationSweeper(
            ledger: ledger, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let swept = AwaitableValue<Set<RegistrationID>>([])
        let task = Task {
            await sweeper.run { id in
                // As the ledger does when a deletion is complete.
                marked.withLock { marked in
                    marked.removeAll { $0 == id }
                    ledger.markForDeletion(marked, isRevoked: false)
                }
                swept.withLock { _ = $0.insert(id) }
                return true
            }
        }
        await swept.wait { $0.count == 299 }
        marked.withLock { marked in
            marked = [ids[299]]
            ledger.markForDeletion(marked)
        }
        sweeper.wake()
        await swept.wait { $0.contains(ids[299]) }
        task.cancel()
        await task.value
    }

    private static func drop(_ claim: consuming LedgerClaim) {}
}
