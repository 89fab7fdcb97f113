import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

/// Tests of revoked users and of registrations that are marked for deletion.
extension SessionRegisterTests {
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
        // Whatever the order in the store is, no session whose login began before the revocation is there after it.
        let second = register.epoch
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for number in 2...40 as ClosedRange<UInt64> {
                if number == 20 { tasks.addTask { try await register.revoke(Fixture.alice) } }
                let session = session(number)
                tasks.addTask { _ = try await register.start(session, since: second) }
            }
            try await tasks.waitForAll()
        }
        let (_, later) = try reopened(fixture)
        #expect(later.allSessions.isEmpty)
        let again = try await later.start(session(1), since: later.epoch)
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
        var limits = StoredLedger.Limits()
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

    @Test("Registrations of revoked users are deleted first, whatever marked them, and other owners take turns")
    func order() async throws {
        var limits = StoredLedger.Limits()
        limits.registrations = 1
        let fixture = try Fixture(limits: limits)
        let register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        // Alice has registered many devices; the ids of the others are larger. The last of each stays.
        for (user, numbers) in [(Fixture.alice, 1...6), (Fixture.bob, 21...23), (Fixture.eve, 31...33)] {
            for number in numbers {
                try await fixture.update(
                    user, Fixture.id(number), Fixture.handle(number), fresh: Fixture.id(number),
                    at: WallTime(seconds: 1_795_000_000 + Int64(number)))
            }
        }
        let before = try await fixture.ledger.pendingDeletion(limit: 100)
        #expect(before == [1, 21, 31, 2, 22, 32, 3, 4, 5].map(Fixture.id))
        try await register.revoke(Fixture.eve)
        let after = try await fixture.ledger.markedForDeletion(limit: 100)
        #expect(after.map(\.id) == [31, 32, 33, 1, 21, 2, 22, 3, 4, 5].map(Fixture.id))
        #expect(after.map(\.isRevoked) == Array(repeating: true, count: 3) + Array(repeating: false, count: 7))
        let first = try await fixture.ledger.markedForDeletion(limit: 4)
        #expect(first == Array(after.prefix(4)))
        // Revoked owners take turns too.
        try await register.revoke(Fixture.bob)
        let revoked = try await fixture.ledger.pendingDeletion(limit: 6)
        #expect(revoked == [21, 31, 22, 32, 23, 33].map(Fixture.id))
    }
}
