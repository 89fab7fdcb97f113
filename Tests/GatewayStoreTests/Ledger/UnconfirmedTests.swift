import GRDB
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = LedgerFixture

@Suite("Imported registrations that no device has confirmed", .overEachStore)
struct UnconfirmedTests {
    private static let minute: Int64 = 60_000_000
    private static let day: Int64 = 86_400_000_000

    private func entry(_ number: Int, of owner: UserName = Fixture.alice) throws -> ImportEntry {
        ImportEntry(
            id: Fixture.id(number), assessment: .valid(owner: owner, handle: try Fixture.handle(number)),
            content: Array("\(number)".utf8))
    }

    /// A ledger that keeps unconfirmed registrations for a day.
    private func fixture(_ directory: TemporaryDirectory = TemporaryDirectory()) throws -> Fixture {
        var limits = StoredLedger.Limits()
        limits.confirmation = .seconds(86_400)
        return try Fixture(directory, limits: limits)
    }

    /// Runs a gateway from one time to the other.
    ///
    /// - Returns: The number of registrations marked meanwhile.
    @discardableResult
    private func run(_ fixture: Fixture, from start: WallTime, for period: Int64) async throws -> Int {
        var marked = 0
        for time in stride(from: 0, through: period, by: Int(10 * Self.minute)) {
            marked += try await fixture.ledger.expireUnconfirmed(now: start.adding(time))
        }
        return marked
    }

    @Test("A forged registration is deleted in time, unless the owner's device registers again")
    func expiry() async throws {
        let fixture = try fixture()
        _ = try await fixture.ledger.importEntries([entry(1), entry(2)], purging: false, now: Fixture.noon)
        let listed = try await fixture.ledger.registrations(of: Fixture.alice)
        #expect(listed.map(\.unconfirmedSince) == [Fixture.noon, Fixture.noon])
        #expect(fixture.ledger.confirmationEnd(listed[0]) == Fixture.noon.adding(Self.day))
        #expect(try await run(fixture, from: Fixture.noon, for: Self.day - 10 * Self.minute) == 0)
        // A request for an id is not a registration.
        _ = try await fixture.create(Fixture.alice, Fixture.handle(1), given: Fixture.id(1))
        _ = try await fixture.create(Fixture.alice, Fixture.handle(2), given: Fixture.id(8))
        #expect(try await fixture.ledger.migration() == .notImported)
        try await fixture.ledger.recordImport(now: Fixture.noon)
        #expect(try await fixture.ledger.migration() == .imported(rejected: 0, unconfirmed: 2))
        try await fixture.update(Fixture.alice, Fixture.id(1), Fixture.handle(1))
        #expect(try await fixture.ledger.migration() == .imported(rejected: 0, unconfirmed: 1))
        #expect(try await run(fixture, from: Fixture.noon.adding(Self.day), for: Self.day) == 1)
        #expect(try await fixture.content() == ["1-1-1 alice live", "8-8-1 alice deleting"])
        #expect(try await fixture.ledger.pendingDeletion(limit: 9) == [Fixture.id(8)])
        #expect(
            try await fixture.look(.sweep(Fixture.id(8)))
                == .pendingDeletion(Fixture.id(8), owner: Fixture.alice, because: .unconfirmed))
        // A device that registers between the mark and the sweep is kept.
        try await fixture.update(Fixture.alice, Fixture.id(8), Fixture.handle(2))
        #expect(try await fixture.look(.sweep(Fixture.id(8))) == .notMarked)
        #expect(try await fixture.ledger.migration() == .imported(rejected: 0, unconfirmed: 0))
    }

    @Test("A device that registers for another user becomes that user's, and is confirmed")
    func ownershipTransfer() async throws {
        let fixture = try fixture()
        _ = try await fixture.ledger.importEntries([entry(1)], purging: false, now: Fixture.noon)
        #expect(
            try await fixture.update(Fixture.eve, Fixture.id(9), Fixture.handle(1))
                == .ownershipTransfer(Fixture.id(1), from: Fixture.alice))
        #expect(try await run(fixture, from: Fixture.noon, for: 2 * Self.day) == 0)
        #expect(try await fixture.ledger.registrations(of: Fixture.eve).map(\.unconfirmedSince) == [nil])
    }

    @Test("Only time with a running gateway counts: neither a pause nor a wrong clock deletes anything")
    func pauses() async throws {
        let fixture = try fixture()
        _ = try await fixture.ledger.importEntries([entry(1)], purging: false, now: Fixture.noon)
        #expect(try await run(fixture, from: Fixture.noon, for: Self.day / 2) == 0)
        // Stopped for a month.
        let later = Fixture.noon.adding(30 * Self.day)
        #expect(try await run(fixture, from: later, for: Self.day / 4) == 0)
        // The clock is a year ahead, then corrected.
        #expect(try await run(fixture, from: Fixture.noon.adding(400 * Self.day), for: 20 * Self.minute) == 0)
        let again = later.adding(Self.day / 4)
        #expect(try await run(fixture, from: again, for: Self.day / 4 - 60 * Self.minute) == 0)
        #expect(try await run(fixture, from: again.adding(Self.day / 4), for: 120 * Self.minute) == 1)
    }

    @Test("An operator may confirm an export, at once or with a later import")
    func confirmed() async throws {
        let fixture = try fixture()
        #expect(
            try await fixture.ledger.importEntries([entry(1)], purging: false, confirming: true, now: Fixture.noon) == [
                .bound
            ])
        #expect(try await fixture.ledger.importEntries([entry(2)], purging: false, now: Fixture.noon) == [.bound])
        let forged = try ImportEntry(
            id: Fixture.id(2), assessment: .valid(owner: Fixture.eve, handle: Fixture.handle(2)),
            content: Array("x".utf8))
        #expect(
            try await fixture.ledger.importEntries([forged], purging: false, confirming: true, now: Fixture.noon) == [
                .alreadyHandled
            ])
        try await fixture.ledger.recordImport(now: Fixture.noon)
        #expect(try await fixture.ledger.migration() == .imported(rejected: 0, unconfirmed: 1))
        for verdict in [ImportResult.confirmed, .alreadyHandled] {
            #expect(
                try await fixture.ledger.importEntries([entry(2)], purging: false, confirming: true, now: Fixture.noon)
                    == [verdict])
        }
        #expect(try await fixture.ledger.migration() == .imported(rejected: 0, unconfirmed: 0))
        #expect(try await run(fixture, from: Fixture.noon, for: 3 * Self.day) == 0)
    }

    @Test(
        "In an older ledger, imported and never confirmed registrations become unconfirmed, and no others",
        .onlySQLite
    )
    func olderLedger() async throws {
        let directory = TemporaryDirectory()
        do {
            let fixture = try fixture(directory)
            _ = try await fixture.ledger.importEntries([entry(1), entry(2)], purging: false, now: Fixture.noon)
            try await fixture.update(Fixture.alice, Fixture.id(2), Fixture.handle(2), at: Fixture.noon.adding(1))
            try await fixture.update(Fixture.bob, Fixture.id(3), Fixture.handle(3), fresh: Fixture.id(3))
            try await fixture.ledger.sqlite.write { try Fixture.undoSchema5($0) }
            try fixture.ledger.close()
        }
        let fixture = try fixture(directory)
        let unconfirmed = try await fixture.ledger.allRegistrations().filter { $0.unconfirmedSince != nil }
        #expect(unconfirmed.map(\.id) == [Fixture.id(1)])
        #expect(unconfirmed.first?.unconfirmedSince == Fixture.noon)
    }

    @Test("A check without unconfirmed registrations writes nothing")
    func nothing() async throws {
        let fixture = try fixture()
        try await fixture.update(Fixture.bob, Fixture.id(3), Fixture.handle(3), fresh: Fixture.id(3))
        let before = fixture.ledger.changes
        #expect(try await run(fixture, from: Fixture.noon, for: Self.day) == 0)
        #expect(fixture.ledger.changes == before)
    }
}
