import GatewayCore
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = LedgerFixture

@Suite("Ledger: updates of unknown outcome", .overEachStore, .timeLimit(.minutes(5)))
struct AttemptTests {
    private let alice = Fixture.alice
    private let bob = Fixture.bob
    private let eve = Fixture.eve
    private let fixture: LedgerFixture
    private let register: SessionRegister

    init() throws {
        fixture = try LedgerFixture()
        register = try SessionRegister(fixture.ledger, clocks: ManualClock(wall: Fixture.noon).clocks)
    }

    /// Starts and prepares an update, and finishes it with the change; nil simulates a killed process.
    @discardableResult
    private func attempt(
        _ user: UserName, _ label: Int, _ handle: Int, under id: Int, ending change: LedgerChange? = nil,
        at time: WallTime = Fixture.noon, isRevoked: @escaping @Sendable () -> Bool = { false }
    ) async throws -> RegistrationAttempt? {
        let request = try LedgerRequest.update(
            user: user, label: Fixture.id(label), handle: Fixture.handle(handle))
        let claim = try await fixture.ledger.begin(request, now: time, isRevoked: isRevoked)
        let attempt = try await fixture.ledger.prepare(Fixture.id(id), replacing: nil, for: claim, now: time)
        if let change { try await fixture.ledger.finish(claim, with: change, now: time) }
        return attempt
    }

    private func sweep(_ id: Int, _ change: LedgerChange? = nil, at time: WallTime) async throws -> Bool {
        let claim = try await fixture.ledger.begin(.sweep(Fixture.id(id)), now: time)
        guard case .pendingDeletion = claim.decision else { return true }
        return try await fixture.ledger.finish(claim, with: change ?? .deleted(Fixture.id(id)), now: time)
    }

    @Test("An interrupted first registration is unknown and bound, and is deleted with its user")
    func first() async throws {
        try await attempt(alice, 9, 1, under: 1)
        #expect(try await fixture.content() == ["1-1-1 alice unknown"])
        #expect(try await fixture.look(.create(user: bob, handle: Fixture.handle(1))) == .queryWithoutHandle)
        try await register.revoke(alice)
        #expect(try await fixture.content() == ["1-1-1 alice deleting"])
        #expect(try await fixture.ledger.pendingDeletion(limit: 9) == [Fixture.id(1)])
    }

    @Test("A registration whose deletion has no answer is not used again: its device registers under another id")
    func unansweredDeletion() async throws {
        for user in [alice, bob] {
            let fixture = try LedgerFixture()
            let handle = try Fixture.handle(1)
            try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
            let claim = try await fixture.ledger.begin(.delete(user: alice, label: Fixture.id(1)), now: Fixture.noon)
            try await fixture.ledger.finish(claim, with: .deletionUnanswered(Fixture.id(1)), now: Fixture.noon)
            #expect(try await fixture.content() == ["1-1-1 alice deleting"])
            #expect(try await fixture.ledger.isHeld(Fixture.id(1), forAnotherThan: handle))
            let request = LedgerRequest.update(user: user, label: Fixture.id(1), handle: handle)
            let update = try await fixture.ledger.begin(request, now: Fixture.noon)
            #expect(update.decision == .notRegistered)
            _ = try await fixture.ledger.prepare(Fixture.id(2), replacing: nil, for: update, now: Fixture.noon)
            try await fixture.ledger.finish(
                update, with: .registered(Fixture.id(2), replacing: nil), now: Fixture.noon)
            #expect(try await fixture.content() == ["\(Fixture.id(2)) \(user) live"])
            // The device calls the new registration its own, and the late deletion does not reach that one.
            #expect(try await fixture.look(.delete(user: user, label: Fixture.id(1))) == .owned(Fixture.id(2)))
            #expect(try await fixture.ledger.pendingDeletion(limit: 9) == [Fixture.id(1)])
            #expect(try await fixture.ledger.isHeld(Fixture.id(1), forAnotherThan: handle))
            let sweep = try await fixture.ledger.begin(.sweep(Fixture.id(1)), now: Fixture.noon)
            #expect(try await fixture.ledger.finish(sweep, with: .deleted(Fixture.id(1)), now: Fixture.noon))
            #expect(try await fixture.ledger.pendingDeletion(limit: 9).isEmpty)
            #expect(try await fixture.content() == ["\(Fixture.id(2)) \(user) live"])
        }
    }

    @Test("An interrupted transfer belongs to both owners: a revocation of either deletes it")
    func ownershipTransfer() async throws {
        for revoked in [alice, bob] {
            let fixture = try LedgerFixture()
            let register = try SessionRegister(fixture.ledger, clocks: ManualClock(wall: Fixture.noon).clocks)
            let handle = try Fixture.handle(1)
            try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
            let claim = try await fixture.ledger.begin(
                .update(user: bob, label: Fixture.id(1), handle: handle), now: Fixture.noon)
            _ = try await fixture.ledger.prepare(Fixture.id(1), replacing: nil, for: claim, now: Fixture.noon)
            try await fixture.ledger.finish(claim, with: .unresolved(Fixture.id(1)), now: Fixture.noon)
            #expect(try await fixture.content() == ["1-1-1 alice unknown"])
            try await register.revoke(revoked)
            #expect(try await fixture.content() == ["1-1-1 alice deleting"])
        }
    }

    @Test("Attempts of several users count until one succeeds, and recent ones after that too")
    func several() async throws {
        try await fixture.update(alice, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
        try await attempt(bob, 1, 1, under: 1, ending: .unresolved(Fixture.id(1)))
        try await attempt(eve, 1, 1, under: 1, ending: .unresolved(Fixture.id(1)))
        let soon = Fixture.noon.adding(1_000_000)
        try await fixture.update(alice, Fixture.id(1), Fixture.handle(1), at: soon)
        // The backend may still carry out bob's and eve's updates.
        #expect(try await fixture.content() == ["1-1-1 alice unknown"])
        let later = Fixture.noon.adding(LedgerTables.lateUpdatePeriod)
        try await fixture.update(alice, Fixture.id(1), Fixture.handle(1), at: later)
        #expect(try await fixture.content() == ["1-1-1 alice live"])
        try await register.revoke(bob)
        try await register.revoke(eve)
        #expect(try await fixture.content() == ["1-1-1 alice live"])
    }

    @Test("The user's own next update resolves it")
    func completed() async throws {
        try await attempt(alice, 9, 1, under: 1, ending: .unresolved(Fixture.id(1)))
        #expect(try await fixture.update(alice, Fixture.id(9), Fixture.handle(1)) == .own(Fixture.id(1)))
        #expect(try await fixture.content() == ["1-1-1 alice live"])
        // A renewal without a response makes the outcome unknown, and the next one resolves it too.
        try await attempt(alice, 1, 1, under: 1, ending: .unresolved(Fixture.id(1)))
        #expect(try await fixture.content() == ["1-1-1 alice unknown"])
        try await fixture.update(alice, Fixture.id(1), Fixture.handle(1))
        #expect(try await fixture.content() == ["1-1-1 alice live"])
    }

    @Test("An update that the backend did not carry out leaves the ledger unchanged")
    func undone() async throws {
        let first = try #require(try await attempt(alice, 9, 1, under: 1))
        #expect(first.undo == .reserve)
        let claim = try await fixture.ledger.begin(
            .update(user: alice, label: Fixture.id(9), handle: Fixture.handle(1)), now: Fixture.noon)
        try await fixture.ledger.finish(claim, with: .undone(first), now: Fixture.noon)
        #expect(try await fixture.content() == ["1-1-1 alice reserved"])

        try await fixture.update(bob, Fixture.id(2), Fixture.handle(2), fresh: Fixture.id(2))
        for (user, handle) in [(alice, 2), (bob, 3)] {
            let request = try LedgerRequest.update(
                user: user, label: Fixture.id(2), handle: Fixture.handle(handle))
            let claim = try await fixture.ledger.begin(request, now: Fixture.noon)
            let attempt = try #require(
                try await fixture.ledger.prepare(Fixture.id(2), replacing: nil, for: claim, now: Fixture.noon))
            #expect(attempt.undo == .remove)
            #expect(try await fixture.content().last == "2-2-1 bob unknown")
            try await fixture.ledger.finish(claim, with: .undone(attempt), now: Fixture.noon)
            #expect(try await fixture.content().last == "2-2-1 bob live")
        }
        // A later attempt that certainly failed does not resolve an earlier unknown outcome.
        try await attempt(alice, 2, 2, under: 2, ending: .unresolved(Fixture.id(2)))
        let again = try #require(try await attempt(alice, 2, 2, under: 2))
        #expect(again.undo == .nothing)
    }

    @Test("A revoked caller prepares nothing, and its registrations are marked in the same transaction")
    func revokedCaller() async throws {
        #expect(try await attempt(alice, 9, 1, under: 1, isRevoked: { true }) == nil)
        #expect(try await fixture.content().isEmpty)
        let isRevoked = Atomic(false)
        let claim = try await fixture.ledger.begin(
            .update(user: alice, label: Fixture.id(9), handle: Fixture.handle(1)), now: Fixture.noon,
            isRevoked: { isRevoked.load(ordering: .relaxed) })
        _ = try await fixture.ledger.prepare(Fixture.id(1), replacing: nil, for: claim, now: Fixture.noon)
        isRevoked.store(true, ordering: .relaxed)
        let stays = try await fixture.ledger.finish(
            claim, with: .registered(Fixture.id(1), replacing: nil), now: Fixture.noon)
        #expect(!stays)
        #expect(try await fixture.content() == ["1-1-1 alice deleting"])
    }

    @Test("A registration that a late update may recreate stays marked until that is impossible")
    func late() async throws {
        try await attempt(alice, 9, 1, under: 1, ending: .unresolved(Fixture.id(1)))
        try await register.revoke(alice)
        let soon = Fixture.noon.adding(LedgerTables.lateUpdatePeriod - 1)
        #expect(try await !sweep(1, at: soon))
        #expect(try await fixture.content() == ["1-1-1 alice deleting"])
        #expect(try await sweep(1, at: Fixture.noon.adding(LedgerTables.lateUpdatePeriod)))
        #expect(try await fixture.content().isEmpty)
    }

    @Test("A deletion that the backend does not confirm is repeated for a day")
    func unconfirmed() async throws {
        try await fixture.update(alice, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
        try await register.revoke(alice)
        let change = LedgerChange.unconfirmed(Fixture.id(1))
        #expect(try await !sweep(1, change, at: Fixture.noon))
        #expect(try await !sweep(1, change, at: Fixture.noon.adding(StoredLedger.confirmationPeriod - 1)))
        #expect(try await fixture.content() == ["1-1-1 alice deleting"])
        #expect(try await sweep(1, change, at: Fixture.noon.adding(StoredLedger.confirmationPeriod)))
        #expect(try await fixture.content().isEmpty)
        // The same for a reserved registration.
        _ = try await fixture.create(bob, nil, given: Fixture.id(2))
        try await register.revoke(bob)
        let orphan = LedgerChange.unconfirmed(Fixture.id(2))
        #expect(try await !sweep(2, orphan, at: Fixture.noon))
        #expect(try await sweep(2, orphan, at: Fixture.noon.adding(StoredLedger.confirmationPeriod)))
        #expect(try await fixture.ledger.pendingDeletion(limit: 9).isEmpty)
    }

    @Test("A sweep waits for no call, and deletes the registration of a call whose caller is revoked")
    func ahead() async throws {
        try await fixture.update(alice, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
        let isRevoked = Atomic(false)
        let call = try await fixture.ledger.begin(
            .update(user: alice, label: Fixture.id(1), handle: Fixture.handle(1)), now: Fixture.noon,
            isRevoked: { isRevoked.load(ordering: .relaxed) })
        _ = try await fixture.ledger.revoke(Fixture.id(1))
        // A user who registers it now keeps it.
        #expect(try await fixture.look(.sweep(Fixture.id(1))) == .notMarked)
        isRevoked.store(true, ordering: .relaxed)
        #expect(fixture.ledger.isClaimed(Fixture.id(1)))
        #expect(try await !sweep(1, at: Fixture.noon))
        #expect(try await fixture.content() == ["1-1-1 alice deleting"])
        let stays = try await fixture.ledger.finish(
            call, with: .registered(Fixture.id(1), replacing: nil), now: Fixture.noon)
        #expect(!stays && !fixture.ledger.isClaimed(Fixture.id(1)))
        #expect(try await sweep(1, at: Fixture.noon))
        #expect(try await fixture.content().isEmpty)
    }

    @Test("A device that an import binds during its registration is not taken from its owner")
    func imported() async throws {
        let claim = try await fixture.ledger.begin(
            .update(user: alice, label: Fixture.id(9), handle: Fixture.handle(1)), now: Fixture.noon)
        #expect(claim.decision == .notRegistered)
        let entry = try ImportEntry(
            id: Fixture.id(1), assessment: .valid(owner: bob, handle: Fixture.handle(1)), content: [1])
        #expect(try await fixture.ledger.importEntries([entry], purging: false, now: Fixture.noon) == [.bound])
        for id in 1...2 {
            let error = await #expect(throws: LedgerUnavailable.self) {
                _ = try await fixture.ledger.prepare(
                    Fixture.id(id), replacing: nil, for: claim, now: Fixture.noon)
            }
            #expect(error?.isFull == true)
        }
        #expect(try await fixture.content() == ["1-1-1 bob live"])
    }

    @Test("An interrupted rotation is deleted when the backend has its id for another device")
    func outdated() async throws {
        try await fixture.update(alice, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
        try await fixture.ledger.dropOutdated(Fixture.id(1), now: Fixture.noon)
        #expect(try await fixture.content() == ["1-1-1 alice live"])
        try await attempt(alice, 1, 2, under: 1, ending: .unresolved(Fixture.id(1)))
        #expect(try await fixture.ledger.isHeld(Fixture.id(1), forAnotherThan: Fixture.handle(2)))
        try await fixture.ledger.dropOutdated(Fixture.id(1), now: Fixture.noon)
        #expect(
            try await fixture.look(.sweep(Fixture.id(1)))
                == .pendingDeletion(Fixture.id(1), owner: alice, because: .superseded))
    }

    @Test("An id of a failed attempt stays marked when the device is registered under another")
    func superseded() async throws {
        let claim = try await fixture.ledger.begin(
            .update(user: alice, label: Fixture.id(9), handle: Fixture.handle(1)), now: Fixture.noon)
        _ = try await fixture.ledger.prepare(Fixture.id(1), replacing: nil, for: claim, now: Fixture.noon)
        _ = try await fixture.ledger.prepare(Fixture.id(2), replacing: nil, for: claim, now: Fixture.noon)
        try await fixture.ledger.finish(claim, with: .registered(Fixture.id(2), replacing: nil), now: Fixture.noon)
        #expect(try await fixture.content() == ["2-2-1 alice live"])
        #expect(
            try await fixture.look(.sweep(Fixture.id(1)))
                == .pendingDeletion(Fixture.id(1), owner: alice, because: .superseded))
    }

    @Test("The account of an attempt is checked like that of a registration")
    func account() async throws {
        let account = Account(user: alice, login: LoginName("alice"), authenticator: "pam")
        try await fixture.update(bob, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
        let claim = try await fixture.ledger.begin(
            .update(user: alice, label: Fixture.id(1), handle: Fixture.handle(1), account: account),
            now: Fixture.noon)
        _ = try await fixture.ledger.prepare(Fixture.id(1), replacing: nil, for: claim, now: Fixture.noon)
        #expect(try await register.registeringAccounts() == [account])
    }
}
