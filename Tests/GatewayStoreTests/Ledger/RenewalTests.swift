import GRDB
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = LedgerFixture

@Suite("Renewals of registrations")
struct RenewalTests {
    private let alice = Fixture.alice

    /// A ledger in which alice's first device has the registration 1.
    private func registered() async throws -> (fixture: LedgerFixture, handle: DeviceHandle) {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        return (fixture, handle)
    }

    private func later(_ microseconds: Int64) -> WallTime { Fixture.noon.adding(microseconds) }

    @Test("Renewals are written together, one page for a device, before a listing")
    func listing() async throws {
        let (fixture, handle) = try await registered()
        try fixture.emptyLog()
        for number in 1...5 {
            try await fixture.update(alice, Fixture.id(1), handle, at: later(Int64(number)))
            _ = try await fixture.create(alice, handle, given: Fixture.id(1), at: later(Int64(number) + 5))
        }
        #expect(try fixture.directory.bytes("ledger.sqlite-wal").isEmpty)
        let seen = try await fixture.ledger.registrations(of: alice)
        #expect(seen.map(\.lastSeen) == [later(10)])
        #expect(seen.map(\.created) == [Fixture.noon])
        // The header of the log, and one frame with its own header.
        #expect(try fixture.directory.bytes("ledger.sqlite-wal").count == 32 + 24 + 4096)
    }

    @Test("A renewal is written without another call")
    func time() async throws {
        let (fixture, handle) = try await registered()
        let (commits, committed) = AsyncStream<Void>.makeStream()
        let observer = CommitObserver { committed.yield() }
        fixture.ledger.sqlite.add(transactionObserver: observer)
        try await fixture.update(alice, Fixture.id(1), handle, at: later(7))
        var iterator = commits.makeAsyncIterator()
        await iterator.next()
        let seen = try await fixture.ledger.read { try $0.registration(Fixture.id(1))?.lastSeen }
        #expect(seen == later(7))
        withExtendedLifetime(observer) {}
    }

    @Test("A renewal is written before a later change, which therefore sees it")
    func surplus() async throws {
        let fixture = try LedgerFixture(
            limits: {
                var limits = StoredLedger.Limits()
                limits.registrations = 2
                return limits
            }())
        for number in 1...2 {
            try await fixture.update(
                alice, Fixture.id(number), try Fixture.handle(number), fresh: Fixture.id(number),
                at: later(Int64(number)))
        }
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(1), at: later(3))
        try await fixture.update(alice, Fixture.id(3), try Fixture.handle(3), fresh: Fixture.id(3), at: later(4))
        #expect(
            try await fixture.content() == ["1-1-1 alice live", "2-2-1 alice deleting", "3-3-1 alice live"])
    }

    @Test("A close writes the renewals")
    func close() async throws {
        let (fixture, handle) = try await registered()
        try await fixture.update(alice, Fixture.id(1), handle, at: later(7))
        try fixture.ledger.close()
        let reopened = try LedgerFixture(fixture.directory)
        #expect(try await reopened.ledger.registrations(of: alice).map(\.lastSeen) == [later(7)])
    }

    @Test("Renewals stay while they cannot be written")
    func failure() async throws {
        let (fixture, handle) = try await registered()
        try await fixture.refuseWrites(true)
        try await fixture.update(alice, Fixture.id(1), handle, at: later(7))
        #expect(try await fixture.ledger.registrations(of: alice).map(\.lastSeen) == [Fixture.noon])
        try await fixture.refuseWrites(false)
        #expect(try await fixture.ledger.registrations(of: alice).map(\.lastSeen) == [later(7)])
    }

    @Test("A registration that was marked during its renewal is live again, as its device was told")
    func markedMeanwhile() async throws {
        let (fixture, handle) = try await registered()
        let claim = try await fixture.ledger.begin(
            .update(user: alice, label: Fixture.id(1), handle: handle), now: later(7))
        _ = try await fixture.ledger.revoke(Fixture.id(1))
        #expect(try await fixture.ledger.finish(claim, with: .registered(Fixture.id(1), replacing: nil), now: later(7)))
        #expect(try await fixture.content() == ["1-1-1 alice live"])
    }

    @Test("A renewal of a caller who was revoked meanwhile is marked for deletion")
    func revokedMeanwhile() async throws {
        let (fixture, handle) = try await registered()
        let claim = try await fixture.ledger.begin(
            .update(user: alice, label: Fixture.id(1), handle: handle), now: later(7), isRevoked: { true })
        let stays = try await fixture.ledger.finish(
            claim, with: .registered(Fixture.id(1), replacing: nil), now: later(7))
        #expect(!stays)
        #expect(try await fixture.content() == ["1-1-1 alice deleting"])
    }

    @Test("An imported registration is confirmed at once")
    func imported() async throws {
        let (fixture, handle) = try await registered()
        try await fixture.ledger.sqlite.write { database in
            try database.execute(sql: "UPDATE registration SET import_unconfirmed = 1")
        }
        try await fixture.update(alice, Fixture.id(1), handle, at: later(7))
        #expect(try await fixture.ledger.read { try $0.registration(Fixture.id(1))?.importUnconfirmed } == nil)
    }

    @Test("A registration by another account of the user is written at once")
    func otherAccount() async throws {
        let (fixture, handle) = try await registered()
        let account = Account(user: alice, login: LoginName("alice"), authenticator: PluginName("pam"))
        try await fixture.update(alice, Fixture.id(1), handle, by: account, at: later(7))
        #expect(try await fixture.ledger.read { try $0.registration(Fixture.id(1))?.account } == account)
    }

    @Test("A device that registers again under its own id gets its own registration")
    func renewalOfLabel() async throws {
        let fixture = try LedgerFixture()
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(1), fresh: Fixture.id(1))
        try await fixture.update(alice, Fixture.id(2), try Fixture.handle(2), fresh: Fixture.id(2))
        // The first device registers under the second one's id.
        try await fixture.update(alice, Fixture.id(2), try Fixture.handle(1))
        #expect(try await fixture.look(.delete(user: alice, label: Fixture.id(2))) == .owned(Fixture.id(1)))
        try await fixture.update(alice, Fixture.id(2), try Fixture.handle(2))
        #expect(try await fixture.look(.delete(user: alice, label: Fixture.id(2))) == .owned(Fixture.id(2)))
    }

    @Test("After the limit of registrations was lowered, the next registration marks the surplus")
    func lowered() async throws {
        let fixture = try LedgerFixture()
        for number in 1...4 {
            try await fixture.update(
                alice, Fixture.id(number), try Fixture.handle(number), fresh: Fixture.id(number),
                at: Fixture.noon.adding(Int64(number)))
        }
        fixture.ledger.limits.registrations = 2
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(1), at: Fixture.noon.adding(5))
        _ = try await fixture.ledger.registrations(of: alice)
        #expect(
            try await fixture.content()
                == ["1-1-1 alice live", "2-2-1 alice deleting", "3-3-1 alice deleting", "4-4-1 alice live"])
    }
}

/// Calls a function after each commit.
private final class CommitObserver: TransactionObserver, Sendable {
    private let committed: @Sendable () -> Void
    init(_ committed: @escaping @Sendable () -> Void) { self.committed = committed }
    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ db: Database) { committed() }
    func databaseDidRollback(_ db: Database) {}
}
