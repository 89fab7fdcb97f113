import GRDB
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

/// Tests of changes that cannot be written at once.
extension SessionRegisterTests {
    @Test(
        "If the ledger cannot be written nothing changes, not even in memory; what an operator revokes is revoked in memory all the same",
        .onlySQLite
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
        await #expect(throws: LedgerUnavailable.self) { try await held.delete(first, of: Fixture.alice) }
        await #expect(throws: LedgerUnavailable.self) {
            try await held.revoke(token: "t", of: Fixture.alice, until: end)
        }
        #expect(register.allSessions == before)
        let token = TokenReference(id: "u", session: first, issued: now, expires: end)
        #expect(!register.isRevoked(token, of: Fixture.alice) && !register.isRevoked(orphan, of: Fixture.alice))
        // Operators.
        let second = session(2).id
        await #expect(throws: LedgerUnavailable.self) { try await held.deleteNow(second, of: Fixture.alice) }
        await #expect(throws: LedgerUnavailable.self) {
            try await held.revokeInMemory(token: "t", of: Fixture.alice, until: end)
        }
        #expect(register.session(second) == nil && register.isRevoked(orphan, of: Fixture.alice))
        try await fixture.refuseWrites(false)
        let ended = try await register.delete(first, of: Fixture.alice)
        #expect(ended)
        (fixture, register) = try reopened(fixture)
        #expect(register.allSessions.map(\.id).sorted { $0.text < $1.text } == [session(2).id, session(3).id])
    }

    @Test("What an operator revokes during an outage is written by a retry", .onlySQLite, arguments: [false, true])
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
            await #expect(throws: LedgerUnavailable.self) { try await held.deleteNow(open.id, of: Fixture.alice) }
        }
        await #expect(throws: LedgerUnavailable.self) {
            try await held.revokeInMemory(token: "t", of: Fixture.alice, until: end)
        }
        #expect(register.userOfUnwrittenClose(open.id) == Fixture.alice)
        try await fixture.refuseWrites(false)
        if byOperator {
            let closed = try await register.deleteNow(open.id, of: Fixture.alice)
            #expect(closed)
        } else {
            try await register.removeExpired()
        }
        #expect(register.userOfUnwrittenClose(open.id) == nil)
        let again = try await register.deleteNow(open.id, of: Fixture.alice)
        #expect(!again)
        (fixture, register) = try reopened(fixture)
        #expect(register.session(open.id) == nil)
        #expect(
            register.isRevoked(TokenReference(id: "t", session: nil, issued: now, expires: end), of: Fixture.alice))
    }

    @Test("A login that cannot remove the session that it replaces changes nothing", .onlySQLite)
    func replacing() async throws {
        var fixture = try Fixture()
        var register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        for number in 1...20 {
            clock.advance(by: .seconds(1))
            _ = try await register.start(session(UInt64(number)), since: register.epoch)
        }
        let before = register.allSessions
        // The new row can be written, and no row can be deleted.
        try await fixture.ledger.sqlite.writeWithoutTransaction { database in
            try database.execute(
                sql: "CREATE TRIGGER keep BEFORE DELETE ON session BEGIN SELECT raise(ABORT, 'kept'); END")
        }
        let (held, fresh) = (register, session(100))
        await #expect(throws: LedgerUnavailable.self) { try await held.start(fresh, since: held.epoch) }
        #expect(register.allSessions == before)
        try await fixture.ledger.sqlite.writeWithoutTransaction { try $0.execute(sql: "DROP TRIGGER keep") }
        let started = try await register.start(fresh, since: register.epoch, limit: 20)
        #expect(started == before.suffix(1))
        (fixture, register) = try reopened(fixture)
        #expect(Set(register.allSessions.map(\.id)) == Set(before.dropLast().map(\.id) + [fresh.id]))
    }
}
