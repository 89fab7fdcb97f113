import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Synchronization
import Testing

@testable import GatewayStore

/// Two gateways that use one store at the same time.
@Suite("Sessions of several gateways", .timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct SharedSessionTests {
    private let shared: SharedStore
    private let ledgers: (one: StoredLedger, other: StoredLedger)
    private let one: SessionRegister
    private let other: SessionRegister

    init() throws {
        shared = try SharedStore()
        ledgers = (StoredLedger(try shared.open(shared.first)), StoredLedger(try shared.open(shared.second)))
        one = try SessionRegister(ledgers.one, clocks: shared.clock.clocks)
        other = try SessionRegister(ledgers.other, clocks: shared.clock.clocks)
    }

    private func close() throws {
        try ledgers.one.close()
        try ledgers.other.close()
    }

    private func session(_ number: UInt64, _ user: UserName, provider: ProviderLogin? = nil) -> Session {
        let now = shared.clock.clocks.wall()
        return Session(
            id: SessionID(random: (9, number)), user: user, login: LoginName(provider?.subject ?? user.text),
            authenticator: "pam", device: nil, began: now, ends: WallTime(seconds: now.seconds + 86_400), renewed: now,
            provider: provider)
    }

    private func token(_ session: Session) -> TokenReference {
        let now = shared.clock.clocks.wall()
        return TokenReference(
            id: "t\(session.id.text)", session: session.id, issued: now, expires: session.ends, provider: nil)
    }

    @Test("A session that begins at one gateway is known at the other, and its end before the call returns")
    func sessionOfOther() async throws {
        let session = session(1, LedgerFixture.alice)
        let token = token(session)
        #expect(try await one.start(session, since: one.epoch))
        if other.isRevoked(token, of: session.user) { #expect(other.mayHaveBegunElsewhere(token)) }
        #expect(await other.refresh())
        #expect(!other.isRevoked(token, of: session.user))
        #expect(!other.mayHaveBegunElsewhere(token))
        #expect(try await other.renew(session.id))
        #expect(try await one.delete(session.id, of: session.user))
        #expect(other.isRevoked(token, of: session.user))
        #expect(await one.refresh())
        #expect(one.isRevoked(token, of: session.user))
        shared.clock.advance(by: .seconds(301))
        // An old token of an unknown session is not looked up.
        #expect(!other.mayHaveBegunElsewhere(token))
        try close()
    }

    @Test("A revocation of a user, a token or a login at a provider has effect at both when the call returns")
    func revocations() async throws {
        let (alice, bob) = (session(1, LedgerFixture.alice), session(2, LedgerFixture.bob))
        let login = ProviderLogin(issuer: "https://idp.example", subject: "carol", session: "s1")
        let carol = session(3, LedgerFixture.bob, provider: login)
        for session in [alice, bob, carol] { #expect(try await one.start(session, since: one.epoch)) }
        #expect(await other.refresh())
        let cleared = Mutex<[UserName]>([])
        other.clearAfterRevocationElsewhere { user in cleared.withLock { $0.append(user) } }
        let epoch = other.epoch
        try await one.revoke(LedgerFixture.alice)
        #expect(other.isRevoked(token(alice), of: alice.user))
        #expect(other.wasRevoked(LedgerFixture.alice, since: epoch))
        #expect(cleared.withLock { $0 } == [LedgerFixture.alice])
        #expect(!other.isRevoked(token(bob), of: bob.user))
        try await one.revoke(token: token(bob).id, of: bob.user, until: bob.ends)
        #expect(other.isRevoked(token(bob), of: bob.user))
        #expect(!other.isRevoked(token(carol), of: carol.user))
        let logout = ProviderLogout(
            issuer: login.issuer, targets: [.session("s1")], issued: shared.clock.clocks.wall())
        #expect(try await other.logOut(logout) == [carol])
        #expect(one.isRevoked(token(carol), of: carol.user))
        #expect(one.wasLoggedOut(login, since: epoch))
        // The next start reads the same.
        try ledgers.other.close()
        let again = StoredLedger(try shared.open(shared.second))
        let reread = try SessionRegister(again, clocks: shared.clock.clocks)
        #expect(reread.session(alice.id) == nil && reread.session(carol.id) == nil && reread.session(bob.id) == bob)
        try again.close()
        try ledgers.one.close()
    }

    @Test("A logout at one gateway removes the session that the other one has just begun, from the store too")
    func logoutOfUnknown() async throws {
        for number in 0..<20 as Range<UInt64> {
            let login = ProviderLogin(issuer: "https://idp.example", subject: "carol", session: "s\(number)")
            let carol = session(number, LedgerFixture.bob, provider: login)
            #expect(try await one.start(carol, since: one.epoch))
            // The other gateway may not know the session yet.
            let logout = ProviderLogout(
                issuer: login.issuer, targets: [.session("s\(number)")], issued: shared.clock.clocks.wall())
            _ = try await other.logOut(logout)
            #expect(one.isRevoked(token(carol), of: carol.user))
            // The row goes with the change of the logout, which each gateway applies.
            func isStored() throws -> Bool {
                try ledgers.one.database.readTables { (tables: LedgerTables) in
                    try tables.sessionTable(at: shared.clock.clocks.wall()).session(carol.id) != nil
                }
            }
            while try isStored() { await Task.yield() }
        }
        try close()
    }

    @Test("A registration waits for a reading only if the access of its user may have ended")
    func changesToKnow() async throws {
        func mustRead(_ ledger: StoredLedger, after number: Int64, beginsSession: Bool = false) async throws -> Bool {
            try await ledger.read {
                try $0.hasChange(of: LedgerFixture.alice, after: number, includesSessions: !beginsSession)
            }
        }
        let alice = session(1, LedgerFixture.alice)
        #expect(try await one.start(alice, since: one.epoch))
        #expect(try await one.start(session(2, LedgerFixture.bob), since: one.epoch))
        #expect(try await !mustRead(ledgers.other, after: 0))
        let last = try await ledgers.one.read { try $0.lastChange() }
        try await one.revoke(LedgerFixture.bob)
        #expect(try await !mustRead(ledgers.other, after: last, beginsSession: true))
        #expect(try await one.delete(alice.id, of: alice.user))
        #expect(try await mustRead(ledgers.other, after: last))
        // The end of another session does not concern a login.
        #expect(try await !mustRead(ledgers.other, after: last, beginsSession: true))
        // The memory may have the session again, by a reading that began before its end.
        #expect(try await mustRead(ledgers.one, after: last))
        try await one.revoke(LedgerFixture.alice)
        let revoked = try await ledgers.one.read { try $0.lastChange() }
        for ledger in [ledgers.one, ledgers.other] {
            #expect(try await mustRead(ledger, after: revoked - 1))
            #expect(try await mustRead(ledger, after: revoked - 1, beginsSession: true))
        }
        #expect(try await !mustRead(ledgers.other, after: revoked, beginsSession: true))
        let logout = ProviderLogout(
            issuer: "https://idp.example", targets: [.session("s1")], issued: shared.clock.clocks.wall())
        _ = try await other.logOut(logout)
        for ledger in [ledgers.one, ledgers.other] { #expect(try await mustRead(ledger, after: revoked)) }
        try close()
    }

    @Test("A login that began before a revocation at the other gateway begins no session")
    func loginAndRevocation() async throws {
        let epoch = other.epoch
        try await one.revoke(LedgerFixture.alice)
        #expect(try await !other.start(session(1, LedgerFixture.alice), since: epoch))
        #expect(try await other.start(session(2, LedgerFixture.alice), since: other.epoch))
        try close()
    }

    @Test("Logins and revocations of one user at both at once: no session is older than a revocation, and both agree")
    func concurrent() async throws {
        let user = LedgerFixture.alice
        await withTaskGroup { tasks in
            for number in 0..<40 as Range<UInt64> {
                let register = number % 2 == 0 ? one : other
                tasks.addTask {
                    if number % 8 == 7 {
                        try? await register.revoke(user)
                    } else {
                        _ = try? await register.start(session(number, user), since: register.epoch)
                    }
                }
            }
        }
        #expect(await one.refresh())
        #expect(await other.refresh())
        let known = Set(one.sessions(of: user).map(\.id))
        #expect(known == Set(other.sessions(of: user).map(\.id)))
        let stored = try ledgers.one.database.readTables { (tables: LedgerTables) in
            try tables.sessionTable(at: shared.clock.clocks.wall()).sessions(of: user, at: shared.clock.clocks.wall())
        }
        #expect(known == Set(stored.map(\.id)))
        try await one.revoke(user)
        #expect(one.sessions(of: user).isEmpty && other.sessions(of: user).isEmpty)
        try close()
    }

    @Test("Logins at two gateways at once keep the limit of a user, and write what they change")
    func loginsAtTheLimit() async throws {
        let user = LedgerFixture.alice
        for number in 0..<20 as Range<UInt64> { _ = try await one.start(session(number, user), since: one.epoch) }
        shared.clock.advance(by: .seconds(1))
        let before = try await ledgers.one.read { try $0.lastChange() }
        try await withThrowingTaskGroup { tasks in
            for number in 100..<200 as Range<UInt64> {
                let register = number % 2 == 0 ? one : other
                let session = session(number, user)
                tasks.addTask { _ = try await register.start(session, since: register.epoch, limit: 20) }
            }
            try await tasks.waitForAll()
        }
        let changes = try await ledgers.one.read {
            try $0.integer(sql: "SELECT count(*) FROM change WHERE number > ?", arguments: [before])
        }
        #expect(changes == 200)
        #expect(await one.refresh())
        #expect(await other.refresh())
        let known = one.sessions(of: user)
        #expect(known.count == 20 && Set(known) == Set(other.sessions(of: user)))
        try close()
    }

    @Test("A revocation waits for a gateway that does not read, until that one rejects all credentials")
    func silentNode() async throws {
        let session = session(1, LedgerFixture.alice)
        #expect(try await one.start(session, since: one.epoch))
        try shared.run(
            """
            INSERT INTO node (instance, host, program, fence, started, until, is_exclusive, applied)
            VALUES ('silent', 'silent', '', 1, 0, 9000000000000000, FALSE, 0)
            """)
        let isDone = Mutex(false)
        let delete = Task {
            let isDeleted = try await one.delete(session.id, of: session.user)
            isDone.withLock { $0 = true }
            return isDeleted
        }
        // The session has ended at both that read.
        while !other.isRevoked(token(session), of: session.user) { _ = await other.refresh() }
        for _ in 0..<3 { #expect(await one.refresh()) }
        #expect(!isDone.withLock { $0 })
        shared.clock.advance(by: .seconds(12))
        #expect(try await delete.value)
        // A node that is gone is not waited for.
        try shared.expire()
        try await one.revoke(LedgerFixture.alice)
        try close()
    }

    @Test("A store that has become older than what a gateway knows ends it, and the next start ends all sessions")
    func olderCopy() async throws {
        #expect(try await one.start(session(1, LedgerFixture.alice), since: one.epoch))
        #expect(await other.refresh())
        try ledgers.other.close()
        try shared.run("DELETE FROM change")
        #expect(await !one.refresh())
        #expect(ledgers.one.lossReason?.contains("older copy") == true)
        #expect(!one.isCurrent)
        try ledgers.one.close()
        let again = StoredLedger(try shared.open(shared.first))
        #expect(try again.pendingRestore() != nil)
        try again.close()
        // The other installation does not take the store for older once more.
        let third = StoredLedger(try shared.open(shared.second))
        #expect(try third.pendingRestore() != nil)
        try third.close()
    }

    @Test("When a gateway completes a restore, the others end, because what they have in memory is not true any more")
    func restored() async throws {
        try await Task.detached {
            try ledgers.other.recordRestore(now: shared.clock.clocks.wall())
            let pending = try #require(try ledgers.other.pendingRestore())
            _ = try ledgers.other.complete(pending, sessionsBeingDeleted: true, JournaledRegistrations())
        }.value
        #expect(await !one.refresh())
        #expect(ledgers.one.lossReason?.contains("restore") == true)
        try close()
    }
}
