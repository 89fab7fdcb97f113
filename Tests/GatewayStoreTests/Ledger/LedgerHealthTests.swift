import GRDB
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

@Suite("Ledger: availability")
struct LedgerHealthTests {
    @Test("While the ledger cannot be written no call reaches the backend, and afterwards calls do")
    func unwritable() async throws {
        let fixture = try Fixture(proofLifetime: .zero)
        let handle = try Fixture.handle(1)
        try await fixture.update(Fixture.alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        #expect(fixture.ledger.fault == nil)
        try await fixture.refuseWrites(true)
        for request: LedgerRequest in [
            .create(user: Fixture.alice, handle: handle),
            .update(user: Fixture.alice, label: Fixture.id(1), handle: handle),
            .delete(user: Fixture.alice, label: Fixture.id(1)), .sweep(Fixture.id(1)),
        ] {
            await #expect(throws: LedgerUnavailable.self) {
                _ = try await fixture.ledger.begin(request, now: Fixture.noon)
            }
            #expect(fixture.ledger.fault?.hasPrefix("cannot be written: ") == true)
        }
        #expect(fixture.ledger.claims.heldKeys == 0)
        try await fixture.refuseWrites(false)
        // A test write detects it without an earlier call.
        await fixture.ledger.testWrite()
        #expect(fixture.ledger.fault == nil)
        try await fixture.update(Fixture.alice, Fixture.id(1), handle)
    }

    @Test("A commit proves for a while that the next succeeds, and a failure ends that")
    func proof() async throws {
        let fixture = try Fixture()
        _ = try await fixture.look(.create(user: Fixture.alice, handle: nil))
        try fixture.emptyLog()
        _ = try await fixture.look(.create(user: Fixture.alice, handle: nil))
        #expect(try fixture.directory.bytes("ledger.sqlite-wal").isEmpty)
        try await fixture.refuseWrites(true)
        #expect((try? await fixture.ledger.write { try $0.storeTestValue() }.get()) == nil)
        #expect(fixture.ledger.fault != nil)
        await #expect(throws: LedgerUnavailable.self) {
            try await fixture.look(.create(user: Fixture.alice, handle: nil))
        }
    }

    @Test("An error of a change does not make the ledger unavailable")
    func changeErrors() async throws {
        let fixture = try Fixture()
        let failed = await fixture.ledger.write { _ in throw LedgerUnavailable("not this one") }
        #expect(throws: LedgerUnavailable.self) { try failed.get() }
        #expect(fixture.ledger.fault == nil)
    }

    @Test("A check passes on a valid ledger in use, and reports damage permanently")
    func integrity() async throws {
        let fixture = try Fixture()
        for number in 1...60 {
            try await fixture.update(
                UserName(canonical: "user\(number)")!, Fixture.id(number), Fixture.handle(number),
                fresh: Fixture.id(number))
        }
        #expect(try await fixture.ledger.checkIntegrity() == nil)
        #expect(fixture.ledger.fault == nil)
        try await fixture.ledger.sqlite.writeWithoutTransaction { database in
            // An index lacks a row, so that its handle would look unbound.
            try database.execute(
                sql: """
                    PRAGMA writable_schema = 1;
                    UPDATE sqlite_master SET sql = replace(sql, '<> ''reserved''', '= ''nothing''')
                        WHERE name = 'registration_of_handle';
                    PRAGMA writable_schema = RESET;
                    REINDEX registration_of_handle;
                    PRAGMA writable_schema = 1;
                    UPDATE sqlite_master SET sql = replace(sql, '= ''nothing''', '<> ''reserved''')
                        WHERE name = 'registration_of_handle';
                    PRAGMA writable_schema = RESET;
                    """)
        }
        let damage = try await fixture.ledger.checkIntegrity()
        #expect(damage != nil)
        #expect(fixture.ledger.fault?.hasPrefix("damaged: ") == true)
        await fixture.ledger.testWrite()
        #expect(fixture.ledger.fault?.hasPrefix("damaged: ") == true)
    }

    @Test("Registrations are counted by state, and test writes do not count as changes")
    func counts() async throws {
        let fixture = try Fixture()
        try await fixture.update(Fixture.alice, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
        try await fixture.update(Fixture.alice, Fixture.id(2), Fixture.handle(2), fresh: Fixture.id(2))
        _ = try await fixture.create(Fixture.bob, nil, given: Fixture.id(3))
        _ = try await fixture.ledger.write { try $0.markForDeletion(Fixture.id(2), because: .revoked) }.get()
        let imported = try ImportEntry(
            id: Fixture.id(4), assessment: .valid(owner: Fixture.bob, handle: Fixture.handle(4)), content: [])
        _ = try await fixture.ledger.importEntries([imported], purging: false, now: Fixture.noon)
        let counts = try await fixture.ledger.registrationCounts()
        #expect(
            Dictionary(uniqueKeysWithValues: counts.map { ($0.state, $0.count) })
                == ["reserved": 1, "live": 1, "deleting": 1, "unconfirmed": 1])
        let changes = fixture.ledger.changes
        await fixture.ledger.testWrite()
        #expect(fixture.ledger.changes == changes)
    }
}
