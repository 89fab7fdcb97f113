import GRDB
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = LedgerFixture

@Suite("Sessions and revocations on disk", .overEachStore, .timeLimit(.minutes(5)))
struct SessionRegisterTests {
    let clock = ManualClock(wall: WallTime(seconds: 1_795_000_000))

    func session(_ number: UInt64, _ user: UserName = Fixture.alice, device: String? = nil) -> Session {
        let now = clock.clocks.wall()
        return Session(
            id: SessionID(random: (9, number)), user: user, login: LoginName("EXAMPLE\\\(user)"),
            authenticator: "pam", device: device.flatMap(DeviceLabel.init), began: now,
            ends: WallTime(seconds: now.seconds + 86_400), renewed: now)
    }

    /// Returns the register that another start reads.
    func reopened(_ fixture: LedgerFixture) throws -> (LedgerFixture, SessionRegister) {
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
        try await register.removeExpired()
        clock.setWall(WallTime(seconds: now.seconds + days * 86_400))
        if restarts { (fixture, register) = try reopened(fixture) }
        for _ in 0..<6 {
            clock.advance(by: .seconds(600))
            try await register.removeExpired()
        }
        clock.setWall(WallTime(seconds: now.seconds + 3600))
        for _ in 0..<2 {
            let token = TokenReference(id: "t", session: nil, issued: now, expires: week)
            #expect(register.isRevoked(token, of: Fixture.bob))
            #expect(register.isRevoked(token, of: Fixture.alice))
            #expect(register.session(kept.id) == kept)
            try await register.removeExpired()
            (fixture, register) = try reopened(fixture)
        }
        // Time that passes on both clocks expires it.
        clock.advance(by: .seconds(9 * 86_400))
        try await register.removeExpired()
        #expect(!register.isRevoked(TokenReference(id: "t", session: nil, issued: now, expires: week), of: Fixture.bob))
    }

    @Test(
        "A revocation counts for tokens of before, and not for sessions of later, whatever the clock does",
        arguments: [-86_400, -3600, 0, 3600, 86_400] as [Int64])
    func revocationTime(_ jump: Int64) async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        let start = clock.clocks.wall()
        clock.advance(by: .seconds(60))
        let token = TokenReference(
            id: "t", session: nil, issued: clock.clocks.wall(), expires: start.adding(7 * 86_400_000_000))
        let former = session(1)
        let began = try await register.start(former, since: register.epoch)
        #expect(began)
        clock.setWall(start.adding(jump * 1_000_000))
        clock.advance(by: .seconds(120))
        try await register.revoke(Fixture.alice)
        clock.setWall(start.adding(180_000_000))
        let later = session(2)
        let again = try await register.start(later, since: register.epoch)
        #expect(again)
        for _ in 0..<2 {
            #expect(register.isRevoked(token, of: Fixture.alice))
            #expect(register.session(former.id) == nil)
            #expect(register.session(later.id) == later)
            (fixture, register) = try reopened(fixture)
        }
    }

    @Test("A logout at an identity provider ends its sessions and refuses its tokens, over a restart too")
    func providerLogout() async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        let now = clock.clocks.wall()
        func login(_ subject: String, _ session: String?) -> ProviderLogin {
            ProviderLogin(issuer: "https://id.example.com", subject: subject, session: session)
        }
        func session(_ number: UInt64, _ login: ProviderLogin, from began: WallTime = now) -> Session {
            Session(
                id: SessionID(random: (8, number)), user: Fixture.alice, login: LoginName(login.subject),
                authenticator: "oidc", device: nil, began: began, ends: WallTime(seconds: began.seconds + 86_400),
                renewed: began, provider: login)
        }
        let all = [
            session(1, login("a", "s1")), session(2, login("a", "s2")), session(3, login("a", nil)),
            session(4, login("b", nil)),
            session(5, ProviderLogin(issuer: "https://two.example", subject: "a", session: "s1")),
        ]
        let epoch = register.epoch
        for session in all {
            let started = try await register.start(session, since: epoch)
            #expect(started)
        }
        func token(_ login: ProviderLogin, _ issued: WallTime) -> TokenReference {
            TokenReference(id: "t", session: nil, issued: issued, expires: all[0].ends, provider: login)
        }
        let ofSession = ProviderLogout(
            issuer: "https://id.example.com", targets: [.session("s1"), .subjectWithoutSession("a")], issued: now)
        let ended = try await register.logOut(ofSession)
        #expect(Set(ended.map(\.id)) == [all[0].id, all[2].id])
        // A session whose login was verified before the logout does not begin after it.
        let late = try await register.start(session(6, login("a", "s1")), since: epoch)
        #expect(!late)
        let ofSubject = ProviderLogout(issuer: "https://id.example.com", targets: [.subject("b")], issued: now)
        #expect(try await register.logOut(ofSubject).map(\.id) == [all[3].id])
        clock.advance(by: .seconds(120))
        let later = clock.clocks.wall()
        let again = session(7, login("b", nil), from: later)
        let restarted = try await register.start(again, since: register.epoch)
        #expect(restarted)
        for _ in 0..<2 {
            #expect(Set(register.allSessions.map(\.id)) == [all[1].id, all[4].id, again.id])
            #expect(register.session(again.id)?.provider == again.provider)
            #expect(register.isRevoked(token(login("a", "s1"), later), of: Fixture.alice))
            #expect(register.isRevoked(token(login("a", nil), now), of: Fixture.alice))
            #expect(register.isRevoked(token(login("b", "s9"), now), of: Fixture.alice))
            #expect(!register.isRevoked(token(login("b", "s9"), later), of: Fixture.alice))
            #expect(!register.isRevoked(token(login("a", "s2"), now), of: Fixture.alice))
            #expect(
                !register.isRevoked(
                    token(ProviderLogin(issuer: "https://two.example", subject: "b"), now), of: Fixture.alice))
            (fixture, register) = try reopened(fixture)
        }
        // The provider's tokens of that time have expired long before.
        clock.advance(by: .seconds(9 * 86_400))
        try await register.removeExpired()
        #expect(!register.isRevoked(token(login("b", nil), now), of: Fixture.alice))
    }

    @Test("A session is unchanged after a restart, and an ended one is removed", .onlySQLite)
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
        let done = try await register.delete(ended.id, of: Fixture.bob)
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
        try await register.removeExpired()
        let rows = try await fixture.ledger.sqlite.read { database in
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
            try await register.removeExpired()
            (fixture, register) = try reopened(fixture)
        }
        clock.advance(by: .seconds(7 * 86_400))
        try await register.removeExpired()
        #expect(isRevoked("far") && isRevoked("last"))
        clock.advance(by: .seconds(86_400 + 180))
        try await register.removeExpired()
        #expect(!isRevoked("far") && !isRevoked("last"))
    }

    @Test(
        "A stored revocation of a token whose end cannot be read is kept", .onlySQLite,
        arguments: [Int64.min, -1, Int64.max])
    func unreadableEnd(until: Int64) async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        try await fixture.ledger.sqlite.writeWithoutTransaction { database in
            try database.execute(
                sql: "INSERT INTO revoked_token (\"user\", token, until) VALUES ('alice', 't', ?)", arguments: [until])
        }
        let now = clock.clocks.wall()
        let token = TokenReference(id: "t", session: nil, issued: now, expires: WallTime(seconds: now.seconds + 60))
        for _ in 0..<2 {
            (fixture, register) = try reopened(fixture)
            #expect(register.isRevoked(token, of: Fixture.alice))
            try await register.removeExpired()
            #expect(register.isRevoked(token, of: Fixture.alice))
        }
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

    @Test("Any number of logins at once of users with the most sessions each write one session, and remove one")
    func loginsAtTheLimit() async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        let users = [Fixture.alice, Fixture.bob]
        for number in 0..<40 as Range<UInt64> {
            _ = try await register.start(session(number, users[Int(number % 2)]), since: register.epoch)
        }
        clock.advance(by: .seconds(1))
        let (held, before) = (register, try await fixture.changedRows())
        let logins = 300
        let replaced = try await withThrowingTaskGroup { tasks in
            for number in 0..<logins {
                let session = session(UInt64(1000 + number), users[number % 2])
                tasks.addTask { try await held.start(session, since: held.epoch, limit: 20) }
            }
            return try await tasks.reduce(into: [SessionID]()) { $0 += ($1 ?? []).map(\.id) }
        }
        // Each id is named once, by the login that ended it. A login that later ones ended meanwhile names none.
        #expect(Set(replaced).count == replaced.count)
        #expect(try await fixture.changedRows() - before == 2 * logins)
        let known = register.allSessions
        #expect(known.count == 40 && users.allSatisfy { register.sessions(of: $0).count == 20 })
        (fixture, register) = try reopened(fixture)
        #expect(Set(register.allSessions) == Set(known))
    }

    @Test("Sessions that ended in memory only are written once, however many end at once", .onlySQLite)
    func endsAtOnce() async throws {
        let fixture = try Fixture()
        let register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        let sessions = (0..<100 as Range<UInt64>).map { number in
            session(number, UserName(canonical: "user-\(number)")!)  // The text conforms to the grammar of user names.
        }
        for session in sessions { _ = try await register.start(session, since: register.epoch) }
        let before = try await fixture.changedRows()
        try await withThrowingTaskGroup { tasks in
            for session in sessions {
                tasks.addTask {
                    _ = try await register.deleteNow(session.id, of: session.user)
                    try await register.revokeInMemory(
                        token: "t", of: session.user, until: WallTime(seconds: session.ends.seconds))
                }
            }
            try await tasks.waitForAll()
        }
        #expect(try await fixture.changedRows() - before == 200)
    }

    @Test("A ledger of the first version is migrated after a copy", .onlySQLite)
    func migration() async throws {
        let directory = TemporaryDirectory()
        let file = directory("ledger.sqlite")
        do {
            let fixture = try Fixture(directory)
            try await fixture.update(Fixture.alice, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
            // As the first version wrote it.
            try await fixture.ledger.sqlite.write { database in
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
