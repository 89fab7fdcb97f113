import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

@Suite("Ledger: ownership of devices (contract: ownership)", .overEachStore, .timeLimit(.minutes(5)))
struct OwnershipTests {
    private let alice = Fixture.alice
    private let bob = Fixture.bob
    private let eve = Fixture.eve
    private let fixture: LedgerFixture

    init() throws { fixture = try LedgerFixture() }

    @Test("A phone registers, and registers again without a change")
    func registers() async throws {
        let handle = try Fixture.handle(1)
        #expect(try await fixture.create(alice, handle, given: Fixture.id(1)) == .queryWithHandle)
        #expect(try await fixture.content() == ["1-1-1 alice reserved"])
        #expect(try await fixture.update(alice, Fixture.id(1), handle) == .own(Fixture.id(1)))
        #expect(try await fixture.update(alice, Fixture.id(1), handle) == .own(Fixture.id(1)))
        #expect(try await fixture.create(alice, handle, given: Fixture.id(1)) == .queryWithHandle)
        #expect(try await fixture.content() == ["1-1-1 alice live"])
    }

    @Test("A phone with its id moves to another user")
    func ownershipTransfer() async throws {
        let handle = try Fixture.handle(1)
        _ = try await fixture.create(alice, handle, given: Fixture.id(1))
        try await fixture.update(alice, Fixture.id(1), handle)
        #expect(try await fixture.update(bob, Fixture.id(1), handle) == .ownershipTransfer(Fixture.id(1), from: alice))
        #expect(try await fixture.content() == ["1-1-1 bob live"])
        #expect(try await fixture.delete(alice, Fixture.id(1)) == .notOwned)
        #expect(try await fixture.update(alice, Fixture.id(9), handle) == .ownershipTransfer(Fixture.id(1), from: bob))
        #expect(try await fixture.ledger.registrations(of: bob).isEmpty)
    }

    @Test("A shared phone's token is rotated: the previous owner's registration does not change")
    func sharedPhone() async throws {
        let old = try Fixture.handle(1)
        let new = try Fixture.handle(2)
        _ = try await fixture.create(alice, old, given: Fixture.id(1))
        try await fixture.update(alice, Fixture.id(1), old)
        try await fixture.update(bob, Fixture.id(1), old)
        #expect(try await fixture.update(alice, Fixture.id(1), new, fresh: Fixture.id(2)) == .notRegistered)
        #expect(try await fixture.content() == ["1-1-1 bob live", "2-2-1 alice live"])
        #expect(try await fixture.update(bob, Fixture.id(1), new) == .ownershipTransfer(Fixture.id(2), from: alice))
        let newer = try Fixture.handle(3)
        #expect(try await fixture.update(bob, Fixture.id(1), newer) == .rotation(Fixture.id(2)))
        #expect(try await fixture.look(.create(user: eve, handle: new)) == .queryWithHandle)
        #expect(try await fixture.look(.create(user: eve, handle: newer)) == .queryWithoutHandle)
    }

    @Test("A restored phone: its old id with a new handle is a rotation while the old phone is silent")
    func restoredPhone() async throws {
        let old = try Fixture.handle(1)
        let new = try Fixture.handle(2)
        _ = try await fixture.create(alice, old, given: Fixture.id(1))
        try await fixture.update(alice, Fixture.id(1), old)
        #expect(try await fixture.update(alice, Fixture.id(1), new) == .rotation(Fixture.id(1)))
        #expect(try await fixture.update(alice, Fixture.id(1), old) == .rotation(Fixture.id(1)))
        #expect(try await fixture.content() == ["1-1-1 alice live"])
    }

    @Test("A registration that the backend may still have for the former handle is deleted")
    func lostRotation() async throws {
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(1), fresh: Fixture.id(1))
        // The response to the update did not say whether the backend has lost it.
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(2), fresh: Fixture.id(2), lost: true)
        #expect(try await fixture.content() == ["2-2-1 alice live"])
        #expect(
            try await fixture.look(.sweep(Fixture.id(1)))
                == .pendingDeletion(Fixture.id(1), owner: alice, because: .superseded))
        // A look-up of the handle has shown that the backend has lost this one.
        try await fixture.update(alice, Fixture.id(2), try Fixture.handle(2), fresh: Fixture.id(3), lost: true)
        #expect(try await fixture.look(.sweep(Fixture.id(2))) == .notMarked)
        #expect(try await fixture.ledger.pendingDeletion(limit: 9) == [Fixture.id(1)])
    }

    @Test("A sweep that ends late keeps the registration of a device that got the id meanwhile")
    func lateSweep() async throws {
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(1), fresh: Fixture.id(1))
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(2), fresh: Fixture.id(2), lost: true)
        let sweep = try await fixture.ledger.begin(.sweep(Fixture.id(1)), now: Fixture.noon)
        #expect(sweep.decision == .pendingDeletion(Fixture.id(1), owner: alice, because: .superseded))
        try await fixture.update(bob, Fixture.id(9), try Fixture.handle(5), fresh: Fixture.id(1))
        #expect(try await fixture.ledger.finish(sweep, with: .deleted(Fixture.id(1)), now: Fixture.noon))
        #expect(try await fixture.content() == ["1-1-1 bob live", "2-2-1 alice live"])
    }

    @Test("A foreign, guessed or unknown id has no effect", arguments: [1, 7])
    func foreignID(number: Int) async throws {
        let handle = try Fixture.handle(1)
        _ = try await fixture.create(alice, handle, given: Fixture.id(1))
        try await fixture.update(alice, Fixture.id(1), handle)
        let other = try Fixture.handle(2)
        #expect(try await fixture.update(eve, Fixture.id(number), other, fresh: Fixture.id(2)) == .notRegistered)
        #expect(try await fixture.delete(bob, Fixture.id(number)) == .notOwned)
        #expect(try await fixture.content() == ["1-1-1 alice live", "2-2-1 eve live"])
        #expect(try await fixture.update(eve, Fixture.id(number), try Fixture.handle(3)) == .rotation(Fixture.id(2)))
        #expect(
            try await fixture.look(.update(user: alice, label: Fixture.id(1), handle: handle)) == .own(Fixture.id(1)))
    }

    @Test("A new id with a known handle uses the handle's registration, and is stored as a label")
    func freshIDKnownHandle() async throws {
        let handle = try Fixture.handle(1)
        _ = try await fixture.create(alice, handle, given: Fixture.id(1))
        try await fixture.update(alice, Fixture.id(1), handle)
        #expect(try await fixture.create(alice, nil, given: Fixture.id(2)) == .queryWithoutHandle)
        #expect(try await fixture.update(alice, Fixture.id(2), handle) == .own(Fixture.id(1)))
        #expect(try await fixture.content() == ["1-1-1 alice live"])
        #expect(try await fixture.delete(alice, Fixture.id(2)) == .owned(Fixture.id(1)))
    }

    @Test("A Windows client requests its id without a handle")
    func noHandleAtPost() async throws {
        let channel = try Fixture.handle(1, .wns)
        #expect(try await fixture.create(alice, nil, given: Fixture.id(1)) == .queryWithoutHandle)
        #expect(try await fixture.update(alice, Fixture.id(1), channel, fresh: Fixture.id(2)) == .notRegistered)
        #expect(try await fixture.content() == ["2-2-1 alice live"])
        #expect(try await fixture.update(alice, Fixture.id(1), channel) == .own(Fixture.id(2)))
        #expect(try await fixture.update(alice, Fixture.id(1), try Fixture.handle(2, .wns)) == .rotation(Fixture.id(2)))
    }

    @Test("A reservation gives no right to the handle or to a deletion")
    func reservationIsNoOwnership() async throws {
        let handle = try Fixture.handle(1)
        _ = try await fixture.create(eve, handle, given: Fixture.id(1))
        #expect(try await fixture.delete(eve, Fixture.id(1)) == .notOwned)
        #expect(try await fixture.create(alice, handle, given: Fixture.id(1)) == .queryWithHandle)
        #expect(try await fixture.look(.update(user: eve, label: Fixture.id(1), handle: handle)) == .notRegistered)
        #expect(try await fixture.update(alice, Fixture.id(1), handle) == .own(Fixture.id(1)))
        #expect(try await fixture.create(eve, handle, given: Fixture.id(5)) == .queryWithoutHandle)
    }

    @Test("A handle includes its push service")
    func servicesAreApart() async throws {
        _ = try await fixture.create(alice, try Fixture.handle(1, .apns), given: Fixture.id(1))
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(1, .apns))
        #expect(try await fixture.look(.create(user: bob, handle: try Fixture.handle(1, .fcm))) == .queryWithHandle)
        #expect(try await fixture.ledger.isHeld(Fixture.id(1), forAnotherThan: try Fixture.handle(1, .fcm)))
        #expect(try await !fixture.ledger.isHeld(Fixture.id(1), forAnotherThan: try Fixture.handle(1, .apns)))
        #expect(try await !fixture.ledger.isHeld(Fixture.id(2), forAnotherThan: try Fixture.handle(1, .apns)))
    }

    @Test("An adopted device keeps the backend's id for its handle")
    func adoption() async throws {
        let handle = try Fixture.handle(1)
        #expect(try await fixture.update(alice, Fixture.id(3), handle, fresh: Fixture.id(3)) == .notRegistered)
        #expect(try await fixture.content() == ["3-3-1 alice live"])
        #expect(try await fixture.update(alice, Fixture.id(3), try Fixture.handle(2)) == .rotation(Fixture.id(3)))
    }
}

@Suite("Ledger: several spellings of a channel", .overEachStore)
struct ChannelSpellingTests {
    private static let host = "https://db5.notify.windows.com/?token="

    private func channel(_ token: String) throws -> DeviceHandle {
        try HandleRules().handle(Self.host + token, of: .wns)
    }

    @Test("A second account cannot bind another user's channel under another spelling")
    func oneOwner() async throws {
        let fixture = try LedgerFixture()
        try await fixture.update(
            LedgerFixture.alice, LedgerFixture.id(1), channel("A%2bB%3d"), fresh: LedgerFixture.id(1))
        for token in ["A%2BB%3D", "%41%2bB=", "A%2Bb%3d".replacing("b", with: "B")] {
            #expect(
                try await fixture.look(
                    .update(user: LedgerFixture.eve, label: LedgerFixture.id(9), handle: channel(token)))
                    == .ownershipTransfer(LedgerFixture.id(1), from: LedgerFixture.alice), "\(token)")
            #expect(
                try await fixture.look(.create(user: LedgerFixture.eve, handle: channel(token))) == .queryWithoutHandle)
        }
    }

    @Test("A handle stored by an earlier version under its spelling is found by that spelling and the canonical one")
    func formerSpelling() async throws {
        for presented in ["A%2BB%3D", "A%2bB%3d"] {
            let fixture = try LedgerFixture()
            // The earlier version stored the digest of the client's spelling.
            let written = try fixture.ledger.digester.formerKeys(of: channel("A%2BB%3D"))
            let former = try #require(written.first)
            try await fixture.ledger.write { tables in
                try tables.store(
                    .init(
                        id: LedgerFixture.id(1), owner: LedgerFixture.alice, handle: former, state: .live,
                        created: LedgerFixture.noon, lastSeen: LedgerFixture.noon))
            }.get()
            #expect(try await !fixture.ledger.isHeld(LedgerFixture.id(1), forAnotherThan: channel(presented)))
            #expect(
                try await fixture.update(LedgerFixture.eve, LedgerFixture.id(9), channel(presented))
                    == .ownershipTransfer(LedgerFixture.id(1), from: LedgerFixture.alice))
            #expect(
                try await fixture.look(
                    .update(user: LedgerFixture.alice, label: LedgerFixture.id(1), handle: channel("A%2bB=")))
                    == .ownershipTransfer(LedgerFixture.id(1), from: LedgerFixture.eve))
        }
    }
}
