import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = LedgerFixture

@Suite("Ledger: the effects of changes", .overEachStore, .timeLimit(.minutes(5)))
struct LedgerChangeTests {
    private let alice = Fixture.alice
    private let bob = Fixture.bob

    @Test("Healing: every label of the lost registration refers to the new one")
    func healing() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        _ = try await fixture.create(alice, handle, given: Fixture.id(1))
        try await fixture.update(alice, Fixture.id(1), handle)
        try await fixture.update(alice, Fixture.id(7), handle)
        let created = try #require(try await fixture.ledger.registrations(of: alice).first).created
        let later = WallTime(seconds: Fixture.noon.seconds + 60)
        try await fixture.update(alice, Fixture.id(8), handle, fresh: Fixture.id(2), lost: true, at: later)
        let now = try await fixture.ledger.registrations(of: alice)
        #expect(now.map(\.id) == [Fixture.id(2)])
        #expect(now.map(\.created) == [created])
        #expect(now.map(\.lastSeen) == [later])
        for label in [1, 2, 7, 8] {
            let decision = try await fixture.look(.delete(user: alice, label: Fixture.id(label)))
            #expect(decision == .owned(Fixture.id(2)))
        }
    }

    @Test("A transfer of a lost registration moves the owner and the binding together")
    func healedHandOver() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        try await fixture.update(bob, Fixture.id(1), handle, fresh: Fixture.id(2), lost: true)
        #expect(try await fixture.content() == ["2-2-1 bob live"])
        #expect(try await fixture.look(.delete(user: alice, label: Fixture.id(1))) == .notOwned)
        #expect(try await fixture.look(.delete(user: bob, label: Fixture.id(1))) == .owned(Fixture.id(2)))
    }

    @Test("A POST that returns another id for the user's own handle moves the binding")
    func bindingMoves() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        #expect(try await fixture.create(alice, handle, given: Fixture.id(2)) == .queryWithHandle)
        #expect(try await fixture.content() == ["2-2-1 alice live"])
        #expect(
            try await fixture.look(.update(user: bob, label: Fixture.id(2), handle: handle))
                == .ownershipTransfer(Fixture.id(2), from: alice))
        #expect(try await fixture.look(.delete(user: alice, label: Fixture.id(1))) == .owned(Fixture.id(2)))
    }

    @Test("An id that belongs to another device is rejected, and nothing changes")
    func heldElsewhere() async throws {
        let fixture = try LedgerFixture()
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(1), fresh: Fixture.id(1))
        await #expect(throws: LedgerUnavailable.self) {
            try await fixture.update(bob, Fixture.id(9), try Fixture.handle(2), fresh: Fixture.id(1))
        }
        #expect(try await fixture.create(bob, try Fixture.handle(2), given: Fixture.id(1)) == .queryWithHandle)
        #expect(try await fixture.content() == ["1-1-1 alice live"])
        #expect(try await fixture.look(.create(user: alice, handle: try Fixture.handle(1))) == .queryWithHandle)
    }

    @Test("Changes that do not fit their claim are rejected")
    func misfits() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        try await fixture.update(bob, Fixture.id(3), try Fixture.handle(3), fresh: Fixture.id(3))
        let update = LedgerRequest.update(user: alice, label: Fixture.id(1), handle: handle)
        let misfits: [(LedgerRequest, LedgerChange)] = [
            (update, .reserved(Fixture.id(2), handle: handle)),
            (update, .deleted(Fixture.id(1))),
            (update, .registered(Fixture.id(2), replacing: Fixture.id(3))),
            (.delete(user: alice, label: Fixture.id(1)), .deleted(Fixture.id(2))),
            (.delete(user: bob, label: Fixture.id(1)), .deleted(Fixture.id(1))),
            (.create(user: alice, handle: handle), .reserved(Fixture.id(2), handle: try Fixture.handle(2))),
        ]
        for (request, change) in misfits {
            await #expect(throws: LedgerUnavailable.self, "\(request) \(change)") {
                try await fixture.ledger.finish(
                    try await fixture.ledger.begin(request, now: Fixture.noon), with: change, now: Fixture.noon)
            }
        }
        #expect(try await fixture.content() == ["1-1-1 alice live", "3-3-1 bob live"])
        #expect(fixture.ledger.claims.heldKeys == 0)
    }

    @Test("A registration that may still be at the backend stays its owner's, and can be retried or registered again")
    func deleting() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        let claim = try await fixture.ledger.begin(.delete(user: alice, label: Fixture.id(1)), now: Fixture.noon)
        try await fixture.ledger.finish(claim, with: .deleting(Fixture.id(1)), now: Fixture.noon)
        #expect(try await fixture.content() == ["1-1-1 alice deleting"])
        #expect(try await fixture.look(.delete(user: alice, label: Fixture.id(1))) == .owned(Fixture.id(1)))
        #expect(try await fixture.update(alice, Fixture.id(1), handle) == .own(Fixture.id(1)))
        #expect(try await fixture.content() == ["1-1-1 alice live"])
        #expect(try await fixture.delete(alice, Fixture.id(1)) == .owned(Fixture.id(1)))
        #expect(try await fixture.content().isEmpty)
        #expect(try await fixture.delete(alice, Fixture.id(1)) == .notOwned)
    }

    @Test("A user may take over a device a limited number of times within a day, and again the next day")
    func handOverLimit() async throws {
        var limits = StoredLedger.Limits()
        limits.ownershipTransfers = 3
        let fixture = try LedgerFixture(limits: limits)
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        for _ in 0..<3 {
            #expect(
                try await fixture.update(bob, Fixture.id(1), handle) == .ownershipTransfer(Fixture.id(1), from: alice))
            #expect(
                try await fixture.update(alice, Fixture.id(1), handle) == .ownershipTransfer(Fixture.id(1), from: bob))
        }
        #expect(try await fixture.update(bob, Fixture.id(1), handle) == .tooManyOwnershipTransfers)
        #expect(try await fixture.update(alice, Fixture.id(1), handle) == .own(Fixture.id(1)))
        let almost = Fixture.noon.adding(StoredLedger.ownershipTransferPeriod - 1)
        #expect(try await fixture.update(bob, Fixture.id(1), handle, at: almost) == .tooManyOwnershipTransfers)
        let nextDay = Fixture.noon.adding(StoredLedger.ownershipTransferPeriod)
        #expect(
            try await fixture.update(bob, Fixture.id(1), handle, at: nextDay)
                == .ownershipTransfer(Fixture.id(1), from: alice))
    }

    @Test("Two accounts that know a handle cannot lock out its owner, however long they try")
    func quarrel() async throws {
        var limits = StoredLedger.Limits()
        limits.ownershipTransfers = 3
        let fixture = try LedgerFixture(limits: limits)
        let handle = try Fixture.handle(1)
        let eve = Fixture.eve
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        var takenBack = 0
        // Every hour for three days. The first transfer has expired at the end.
        for hour in 0..<72 {
            let time = Fixture.noon.adding(Int64(hour) * 3_600_000_000)
            for other in [bob, eve] {
                let taken = try await fixture.update(other, Fixture.id(1), handle, at: time)
                guard case .ownershipTransfer = taken else { continue }
                #expect(
                    try await fixture.update(alice, Fixture.id(1), handle, at: time)
                        == .ownershipTransfer(Fixture.id(1), from: other))
                takenBack += 1
            }
        }
        // Three a day for each of the two.
        #expect((15...20).contains(takenBack))
        #expect(try await fixture.content() == ["1-1-1 alice live"])
    }

    @Test("A revoked user is no longer the original owner")
    func quarrelOfRevoked() async throws {
        var limits = StoredLedger.Limits()
        limits.ownershipTransfers = 1
        let fixture = try LedgerFixture(limits: limits)
        let register = try SessionRegister(fixture.ledger, clocks: ManualClock(wall: Fixture.noon).clocks)
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        try await fixture.update(bob, Fixture.id(1), handle)
        try await fixture.update(alice, Fixture.id(1), handle)
        #expect(try await fixture.update(bob, Fixture.id(1), handle) == .tooManyOwnershipTransfers)
        try await fixture.update(Fixture.eve, Fixture.id(1), handle)
        try await register.revoke(alice)
        #expect(try await fixture.update(alice, Fixture.id(1), handle) == .tooManyOwnershipTransfers)
    }

    @Test("A user's reservations and labels are limited, and the oldest are removed")
    func bounds() async throws {
        var limits = StoredLedger.Limits()
        limits.reservations = 3
        limits.labels = 4
        let fixture = try LedgerFixture(limits: limits)
        _ = try await fixture.create(bob, nil, given: Fixture.id(99))
        for number in 1...5 {
            let time = Fixture.noon.adding(Int64(number))
            _ = try await fixture.create(alice, nil, given: Fixture.id(number), at: time)
        }
        #expect(
            try await fixture.content()
                == ["3-3-1 alice reserved", "4-4-1 alice reserved", "5-5-1 alice reserved", "99-99-1 bob reserved"])
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(10), handle, fresh: Fixture.id(10))
        for number in 11...15 { try await fixture.update(alice, Fixture.id(number), handle) }
        #expect(try await fixture.look(.delete(user: alice, label: Fixture.id(11))) == .notOwned)
        #expect(try await fixture.look(.delete(user: alice, label: Fixture.id(12))) == .owned(Fixture.id(10)))
        #expect(try await fixture.look(.delete(user: alice, label: Fixture.id(10))) == .owned(Fixture.id(10)))
    }

    @Test("Any sequence of calls leaves one registration for each handle and one row for each id")
    func invariants() async throws {
        var limits = StoredLedger.Limits()
        limits.ownershipTransfers = .max
        let fixture = try LedgerFixture(limits: limits)
        var random = SplitMix(seed: 42)
        let users = [Fixture.alice, Fixture.bob, Fixture.eve]
        var fresh = 100
        /// The expected registration of each handle.
        var model: [DeviceHandle: (id: RegistrationID, owner: UserName)] = [:]
        for _ in 0..<400 {
            let user = users[Int.random(in: 0..<3, using: &random)]
            let handle = try Fixture.handle(Int.random(in: 0..<5, using: &random))
            let label = Fixture.id(100 + Int.random(in: 0..<max(1, fresh - 99), using: &random))
            fresh += 1
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let asked = try await fixture.create(user, handle, given: model[handle]?.id ?? Fixture.id(fresh))
                #expect((asked == .queryWithoutHandle) == (model[handle].map { $0.owner != user } ?? false))
            case 1, 2:
                let lost = Int.random(in: 0..<4, using: &random) == 0
                let decision = try await fixture.update(user, label, handle, fresh: Fixture.id(fresh), lost: lost)
                let known: RegistrationID? =
                    switch decision {
                    case .own(let id), .ownershipTransfer(let id, _), .rotation(let id): id
                    default: nil
                    }
                if case .rotation(let id) = decision { model = model.filter { $0.value.id != id } }
                if let bound = model[handle] { #expect(known == bound.id) }
                model[handle] = (lost ? Fixture.id(fresh) : known ?? Fixture.id(fresh), user)
            default:
                if case .owned(let id) = try await fixture.delete(user, label) {
                    #expect(model.values.contains { $0.id == id && $0.owner == user })
                    model = model.filter { $0.value.id != id }
                }
            }
            let live = try await fixture.ledger.allRegistrations().filter { $0.state == .live }
            #expect(Set(live.map { "\($0.id) \($0.owner)" }) == Set(model.values.map { "\($0.id) \($0.owner)" }))
        }
        #expect(fixture.ledger.claims.heldKeys == 0)
    }
}
