import GRDB
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = LedgerFixture

@Suite("Sessions and revocations on disk", .timeLimit(.minutes(5)))
struct SessionRegisterTests {
    private let clock = ManualClock(wall: WallTime(seconds: 1_795_000_000))

    private func session(_ number: UInt64, _ user: UserName = Fixture.alice, device: String? = nil) -> Session {
        let now = clock.clocks.wall()
        return Session(
            id: SessionID(random: (9, number)), user: user, login: LoginName("EXAMPLE\\\(user)"),
            authenticator: "pam", device: device.flatMap(DeviceLabel.init), began: now,
            ends: WallTime(seconds: now.seconds + 86_400), renewed: now)
    }

    /// Returns the register that another start reads.
    private func reopened(_ fixture: Fixture) throws -> (Fixture, SessionRegister) {
        try fixture.ledger.close()
        let fixture = try Fixture(fixture.directory)
        return (fixture, try SessionRegister(fixture.ledger, clocks: clock.clocks))
    }

    @Test(
        "A clock that jumps ahead and back expires no revocation, over a restart too", arguments: [8, 400],
        [false, true])
    func clockJumps(days: Int64, restarts: Bool) async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        let now = clock.clocks.wall()
        let kept = session(1, Fixture.bob)
        let started = try await register.start(kept, since: register.epoch)
        #expect(started)
        let week = WallTime(seconds: now.seconds + 7 * 86_400)
        try await register.revoke(token: "t", of: Fixture.bob, until: week)
        try await register.revoke(Fixture.alice)
        try await register.forgetEnded()
        clock.setWall(WallTime(seconds: now.seconds + days * 86_400))
        if restarts { (fixture, register) = try reopened(fixture) }
        for _ in 0..<6 {
            clock.advance(by: .seconds(600))
            try await register.forgetEnded()
        }
        clock.setWall(WallTime(seconds: now.seconds + 3600))
        for _ in 0..<2 {
            let token = TokenReference(id: "t", session: nil, issued: now, expires: week)
            #expect(register.isRevoked(token, of: Fixture.bob))
            #expect(register.isRevoked(token, of: Fixture.alice))
            #expect(register.session(kept.id) == kept)
            try await register.forgetEnded()
            (fixture, register) = try reopened(fixture)
        }
        // Time that passes on both clocks expires it.
        clock.advance(by: .seconds(9 * 86_400))
        try await register.forgetEnded()
        #expect(!register.isRevoked(TokenReference(id: "t", session: nil, issued: now, expires: week), of: Fixture.bob))
    }

    @Test("A session is unchanged after a restart, and an ended one is removed")
    func restart() async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        let (kept, ended) = (session(1, device: "Alice's 📱"), session(2, Fixture.bob))
        for session in [kept, ended] {
            let started = try await register.start(session, since: register.epoch)
            #expect(started)
        }
        clock.advance(by: .seconds(60))
        let renewed = try await register.renew(kept.id)
        #expect(renewed)
        let done = try await register.end(ended.id, of: Fixture.bob)
        #expect(done)
        try await register.revoke(token: "t", of: Fixture.bob, until: WallTime(seconds: 1_795_000_120))
        (fixture, register) = try reopened(fixture)
        var expected = kept
        expected.renewed = WallTime(seconds: 1_795_000_060)
        #expect(register.allSessions == [expected])
        #expect(register.session(ended.id) == nil)
        let token = TokenReference(
            id: "t", session: nil, issued: WallTime(seconds: 1_795_000_000), expires: WallTime(seconds: 1_795_000_060))
        #expect(register.isRevoked(token, of: Fixture.bob))
        // Time passes, and all records expire.
        clock.advance(by: .seconds(86_400))
        #expect(register.session(kept.id) == nil)
        // Expired records are kept for another day in case the clock was wrong.
        clock.advance(by: .seconds(86_400))
        try await register.forgetEnded()
        let rows = try await fixture.ledger.database.read { database in
            try Int.fetchOne(
                database, sql: "SELECT (SELECT count(*) FROM session) + (SELECT count(*) FROM revoked_token)")
        }
        #expect(rows == 0)
    }

    @Test("A token with any expiry can be revoked, which ends after the longest lifetime and stops no start")
    func unverifiedExpiry() async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        let now = clock.clocks.wall()
        func isRevoked(_ id: String) -> Bool {
            register.isRevoked(
                TokenReference(id: id, session: nil, issued: now, expires: WallTime(seconds: now.seconds + 60)),
                of: Fixture.alice)
        }
        for (id, seconds) in [("far", 999_999_999_999), ("last", Int64.max), ("negative", .min)] {
            try await register.revokeInMemory(token: id, of: Fixture.alice, until: WallTime(seconds: seconds))
            try await register.revoke(token: id + " by its user", of: Fixture.alice, until: WallTime(seconds: seconds))
        }
        // A forged token with the id of a revoked one does not shorten the revocation.
        try await register.revokeInMemory(token: "far", of: Fixture.alice, until: WallTime(seconds: 1))
        for _ in 0..<2 {
            #expect(isRevoked("far") && isRevoked("last") && isRevoked("far by its user"))
            try await register.forgetEnded()
            (fixture, register) = try reopened(fixture)
        }
        clock.advance(by: .seconds(7 * 86_400))
        try await register.forgetEnded()
        #expect(isRevoked("far") && isRevoked("last"))
        clock.advance(by: .seconds(86_400 + 180))
        try await register.forgetEnded()
        #expect(!isRevoked("far") && !isRevoked("last"))
    }

    @Test("A stored revocation of a token whose end cannot be read is kept", arguments: [Int64.min, -1, Int64.max])
    func unreadableEnd(until: Int64) async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        try await fixture.ledger.database.writeWithoutTransaction { database in
            try database.execute(
                sql: "INSERT INTO revoked_token (user, token, until) VALUES ('alice', 't', ?)", arguments: [until])
        }
        let now = clock.clocks.wall()
        let token = TokenReference(id: "t", session: nil, issued: now, expires: WallTime(seconds: now.seconds + 60))
        for _ in 0..<2 {
            (fixture, register) = try reopened(fixture)
            #expect(register.isRevoked(token, of: Fixture.alice))
            try await register.forgetEnded()
            #expect(register.isRevoked(token, of: Fixture.alice))
        }
    }

    @Test(
        "If the ledger cannot be written nothing changes, not even in memory; what an operator revokes is revoked in memory all the same"
    )
    func unwritable() async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        for number in 1...3 {
            let started = try await register.start(session(UInt64(number)), since: register.epoch)
            #expect(started)
        }
        let before = register.allSessions
        let now = clock.clocks.wall()
        let (end, orphan) = (
            WallTime(seconds: now.seconds + 3600),
            TokenReference(id: "t", session: nil, issued: now, expires: WallTime(seconds: now.seconds + 60))
        )
        try await fixture.refuseWrites(true)
        clock.advance(by: .seconds(1))
        let (held, first, fresh) = (register, session(1).id, session(4))
        await #expect(throws: LedgerUnavailable.self) { try await held.start(fresh, since: held.epoch) }
        await #expect(throws: LedgerUnavailable.self) { try await held.renew(first) }
        await #expect(throws: LedgerUnavailable.self) { try await held.end(first, of: Fixture.alice) }
        await #expect(throws: LedgerUnavailable.self) {
            try await held.revoke(token: "t", of: Fixture.alice, until: end)
        }
        #expect(register.allSessions == before)
        let token = TokenReference(id: "u", session: first, issued: now, expires: end)
        #expect(!register.isRevoked(token, of: Fixture.alice) && !register.isRevoked(orphan, of: Fixture.alice))
        // Operators.
        let second = session(2).id
        await #expect(throws: LedgerUnavailable.self) { try await held.endAtOnce(second, of: Fixture.alice) }
        await #expect(throws: LedgerUnavailable.self) {
            try await held.revokeInMemory(token: "t", of: Fixture.alice, until: end)
        }
        #expect(register.session(second) == nil && register.isRevoked(orphan, of: Fixture.alice))
        try await fixture.refuseWrites(false)
        let ended = try await register.end(first, of: Fixture.alice)
        #expect(ended)
        (fixture, register) = try reopened(fixture)
        #expect(register.allSessions.map(\.id).sorted { $0.text < $1.text } == [session(2).id, session(3).id])
    }

    @Test("What an operator revokes during an outage is written by a retry", arguments: [false, true])
    func retried(byOperator: Bool) async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        let open = session(1)
        _ = try await register.start(open, since: register.epoch)
        let now = clock.clocks.wall()
        let end = WallTime(seconds: now.seconds + 3600)
        let held = register
        try await fixture.refuseWrites(true)
        for _ in 0..<2 {
            await #expect(throws: LedgerUnavailable.self) { try await held.endAtOnce(open.id, of: Fixture.alice) }
        }
        await #expect(throws: LedgerUnavailable.self) {
            try await held.revokeInMemory(token: "t", of: Fixture.alice, until: end)
        }
        #expect(register.userOfUnwrittenEnd(open.id) == Fixture.alice)
        try await fixture.refuseWrites(false)
        if byOperator {
            let closed = try await register.endAtOnce(open.id, of: Fixture.alice)
            #expect(closed)
        } else {
            try await register.forgetEnded()
        }
        #expect(register.userOfUnwrittenEnd(open.id) == nil)
        let again = try await register.endAtOnce(open.id, of: Fixture.alice)
        #expect(!again)
        (fixture, register) = try reopened(fixture)
        #expect(register.session(open.id) == nil)
        #expect(
            register.isRevoked(TokenReference(id: "t", session: nil, issued: now, expires: end), of: Fixture.alice))
    }

    @Test("The row of a session that a new one replaced is removed later if it cannot be removed at once")
    func evicted() async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        for number in 1...SessionTable.maximumSessions {
            clock.advance(by: .seconds(1))
            _ = try await register.start(session(UInt64(number)), since: register.epoch)
        }
        let oldest = try #require(register.sessions(of: Fixture.alice).last)
        // The new row can be written, and no row can be deleted.
        try await fixture.ledger.database.writeWithoutTransaction { database in
            try database.execute(
                sql: "CREATE TRIGGER keep BEFORE DELETE ON session BEGIN SELECT raise(ABORT, 'kept'); END")
        }
        let started = try await register.start(session(100), since: register.epoch)
        #expect(started && register.session(oldest.id) == nil)
        try await fixture.ledger.database.writeWithoutTransaction { try $0.execute(sql: "DROP TRIGGER keep") }
        try await register.forgetEnded()
        let rows = try await fixture.ledger.database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM session") }
        #expect(rows == SessionTable.maximumSessions)
        (fixture, register) = try reopened(fixture)
        #expect(register.session(oldest.id) == nil && register.session(session(100).id) != nil)
    }

    @Test("A revoked user loses everything, in memory at once and on disk, and others keep theirs")
    func revokedUser() async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        _ = try await register.start(session(1), since: register.epoch)
        _ = try await register.start(session(2, Fixture.bob), since: register.epoch)
        try await fixture.update(Fixture.alice, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
        try await fixture.update(Fixture.bob, Fixture.id(2), Fixture.handle(2), fresh: Fixture.id(2))
        _ = try await fixture.create(Fixture.alice, Fixture.handle(3), given: Fixture.id(3))
        let before = register.epoch
        try await register.revoke(Fixture.alice)
        for round in 0..<2 {
            #expect(register.allSessions.map(\.user) == [Fixture.bob])
            let old = TokenReference(
                id: "t", session: nil, issued: clock.clocks.wall(), expires: WallTime(seconds: 1_795_003_600))
            #expect(register.isRevoked(old, of: Fixture.alice))
            #expect(!register.isRevoked(old, of: Fixture.bob))
            let pendingDeletion = try await fixture.ledger.pendingDeletion(limit: 10)
            // An earlier version may have registered a device that is only reserved here.
            #expect(pendingDeletion == [Fixture.id(1), Fixture.id(3)])
            let left = try await fixture.ledger.allRegistrations()
            #expect(left.map(\.id) == [Fixture.id(1), Fixture.id(2)])
            if round == 0 {
                #expect(register.wasRevoked(Fixture.alice, since: before))
                (fixture, register) = try reopened(fixture)
            }
        }
    }

    @Test("A user revoked after the password was verified gets no session, in memory or on disk")
    func overtaken() async throws {
        let fixture = try Fixture()
        let register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        let epoch = register.epoch
        try await register.revoke(Fixture.alice)
        let started = try await register.start(session(1), since: epoch)
        #expect(!started)
        // Written during the revocation, followed by a power failure.
        let session = session(2)
        try await fixture.ledger.write { try $0.put(session) }.get()
        let (_, later) = try reopened(fixture)
        #expect(later.allSessions.isEmpty)
        clock.advance(by: .seconds(1))
        let again = try await later.start(self.session(3), since: later.epoch)
        #expect(again)
    }

    @Test("A marked registration is swept once, unless its device registers again before")
    func sweep() async throws {
        let fixture = try Fixture()
        let register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        for number in 1...2 {
            try await fixture.update(
                Fixture.alice, Fixture.id(number), Fixture.handle(number), fresh: Fixture.id(number))
        }
        try await register.revoke(Fixture.alice)
        try await fixture.update(Fixture.alice, Fixture.id(1), Fixture.handle(1))
        let notMarked = try await fixture.look(.sweep(Fixture.id(1)))
        #expect(notMarked == .notMarked)
        let claim = try await fixture.ledger.begin(.sweep(Fixture.id(2)), now: Fixture.noon)
        #expect(claim.decision == .pendingDeletion(Fixture.id(2), owner: Fixture.alice, because: .revoked))
        try await fixture.ledger.finish(claim, with: .deleted(Fixture.id(2)), now: Fixture.noon)
        let pendingDeletion = try await fixture.ledger.pendingDeletion(limit: 10)
        #expect(pendingDeletion.isEmpty)
        let left = try await fixture.ledger.registrations(of: Fixture.alice)
        #expect(left.map(\.id) == [Fixture.id(1)])
        let owner = try await fixture.ledger.revoke(Fixture.id(1))
        #expect(owner == Fixture.alice)
        let one = try await fixture.ledger.pendingDeletion(limit: 10)
        #expect(one == [Fixture.id(1)])
    }

    @Test("Beyond the limit, the registration not seen for the longest time is marked with its reason")
    func surplus() async throws {
        var limits = SQLiteLedger.Limits()
        limits.registrations = 3
        let fixture = try Fixture(limits: limits)
        for number in 1...4 {
            let time = WallTime(seconds: 1_795_000_000 + Int64(number == 1 ? 100 : number))
            try await fixture.update(
                Fixture.alice, Fixture.id(number), Fixture.handle(number), fresh: Fixture.id(number), at: time)
            try await fixture.update(
                Fixture.bob, Fixture.id(number + 10), Fixture.handle(number + 10), fresh: Fixture.id(number + 10),
                at: time)
            if number < 4 {
                let none = try await fixture.ledger.pendingDeletion(limit: 10)
                #expect(none.isEmpty)
            }
        }
        let pendingDeletion = try await fixture.ledger.pendingDeletion(limit: 10)
        #expect(pendingDeletion == [Fixture.id(12), Fixture.id(2)])
        let status = try await fixture.look(.sweep(Fixture.id(2)))
        #expect(status == .pendingDeletion(Fixture.id(2), owner: Fixture.alice, because: .surplus))
        // A device that registers again is accepted, and another registration is marked.
        try await fixture.update(
            Fixture.alice, Fixture.id(2), Fixture.handle(2), at: WallTime(seconds: 1_795_000_200))
        let after = try await fixture.ledger.pendingDeletion(limit: 10)
        #expect(after == [Fixture.id(12), Fixture.id(3)])
    }

    @Test("Account changes are stored, and ended accounts or those with another password lose their grants")
    func accounts() async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        func mark(_ text: String) -> AccountFingerprint { AccountFingerprint(ofHash: text)! }  // libcrypto has SHA-256.
        let first = [Fixture.alice: mark("a"), Fixture.bob: mark("b"), Fixture.eve: mark("e")]
        let nothing = AccountChanges(from: [:], to: first)
        #expect(nothing.revoked.isEmpty)
        try await register.reconcile(nothing, of: "static-users")
        for (number, user) in [Fixture.alice, Fixture.bob, Fixture.eve].enumerated() {
            _ = try await register.start(session(UInt64(number), user), since: register.epoch)
        }
        (fixture, register) = try reopened(fixture)
        let before = try await register.accounts(of: "static-users")
        #expect(before == first)
        let changes = AccountChanges(from: before, to: [Fixture.alice: mark("a"), Fixture.bob: mark("other")])
        #expect(changes.revoked == [Fixture.bob: .passwordChanged, Fixture.eve: .ended])
        try await register.reconcile(changes, of: "static-users")
        #expect(register.allSessions.map(\.user) == [Fixture.alice])
        (fixture, register) = try reopened(fixture)
        #expect(register.allSessions.map(\.user) == [Fixture.alice])
        let after = try await register.accounts(of: "static-users")
        #expect(AccountChanges(from: after, to: [Fixture.alice: mark("a"), Fixture.bob: mark("other")]).isEmpty)
        try await register.keepAccounts(of: ["pam"])
        let none = try await register.accounts(of: "static-users")
        #expect(none.isEmpty)
    }

    @Test("A ledger of the first version is migrated after a copy")
    func migration() async throws {
        let directory = TemporaryDirectory()
        let file = directory("ledger.sqlite")
        do {
            let fixture = try Fixture(directory)
            try await fixture.update(Fixture.alice, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
            // As the first version wrote it.
            try await fixture.ledger.database.write { database in
                try Fixture.undoSchema5(database)
                for table in ["session", "revoked_token", "revoked_user", "account", "imported", "stray"] {
                    try database.execute(sql: "DROP TABLE \(table)")
                }
                try database.execute(
                    sql: """
                        DROP INDEX registration_by_account;
                        ALTER TABLE registration DROP COLUMN authenticator;
                        ALTER TABLE registration DROP COLUMN login;
                        DROP INDEX registration_to_delete;
                        ALTER TABLE registration DROP COLUMN reason;
                        PRAGMA user_version = 1;
                        """)
            }
            try fixture.ledger.close()
        }
        let fixture = try Fixture(directory)
        let register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        let started = try await register.start(session(1), since: register.epoch)
        #expect(started)
        let owned = try await fixture.ledger.registrations(of: Fixture.alice)
        #expect(owned.map(\.id) == [Fixture.id(1)])
        let copy = try DatabaseQueue(path: file + ".version-1")
        let (version, rows) = try await copy.read { database in
            (
                try Int.fetchOne(database, sql: "PRAGMA user_version"),
                try Int.fetchOne(database, sql: "SELECT count(*) FROM registration")
            )
        }
        #expect(version == 1 && rows == 1)
        // The migrated ledger accepts the newest version's data.
        let account = Account(user: Fixture.alice, login: LoginName("alice"), authenticator: "pam")
        try await fixture.update(Fixture.alice, Fixture.id(1), Fixture.handle(1), by: account)
        #expect(try await register.registeringAccounts() == [account])
    }
}
