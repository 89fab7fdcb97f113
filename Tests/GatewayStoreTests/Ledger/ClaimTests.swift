import GatewayCore
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

@Suite("Ledger: one call at a time for a handle and for a registration", .overEachStore, .timeLimit(.minutes(5)))
struct ClaimTests {
    private let alice = Fixture.alice
    private let bob = Fixture.bob

    @Test("The second call waits for the first and finds its changes")
    func decidesAnew() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        let first = try await fixture.ledger.begin(
            .update(user: alice, label: Fixture.id(1), handle: handle), now: Fixture.noon)
        #expect(first.decision == .notRegistered)
        async let second = fixture.update(bob, Fixture.id(1), handle)
        try await fixture.untilWaiting(1)
        try await fixture.ledger.finish(first, with: .registered(Fixture.id(1), replacing: nil), now: Fixture.noon)
        #expect(try await second == .ownershipTransfer(Fixture.id(1), from: alice))
        #expect(fixture.ledger.claims.heldKeys == 0)
    }

    @Test("A dropped claim lets the next one continue without a change")
    func drop() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        let request = LedgerRequest.update(user: alice, label: Fixture.id(1), handle: handle)
        let first = try await fixture.ledger.begin(request, now: Fixture.noon)
        async let second = fixture.look(request)
        try await fixture.untilWaiting(1)
        Self.drop(first)
        #expect(try await second == .notRegistered)
        #expect(fixture.ledger.claims.heldKeys == 0)
    }

    private final class Served: Sendable {
        let claims = Mutex<[UInt64]>([])
    }

    private static func drop(_ claim: consuming LedgerClaim) {}

    @Test("A rotation and a deletion wait for the same registration, though only one names a handle")
    func meetAtRegistration() async throws {
        let fixture = try LedgerFixture()
        try await fixture.update(alice, Fixture.id(1), try Fixture.handle(1), fresh: Fixture.id(1))
        let deletion = try await fixture.ledger.begin(.delete(user: alice, label: Fixture.id(1)), now: Fixture.noon)
        let handle = try Fixture.handle(2)
        async let rotation = fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(2))
        try await fixture.untilWaiting(1)
        try await fixture.ledger.finish(deletion, with: .deleted(Fixture.id(1)), now: Fixture.noon)
        #expect(try await rotation == .notRegistered)
        #expect(try await fixture.content() == ["2-2-1 alice live"])
    }

    @Test("Naming another user's handle does not delay its owner")
    func noHostage() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        let hostile = try await fixture.ledger.begin(.create(user: bob, handle: handle), now: Fixture.noon)
        #expect(hostile.decision == .queryWithoutHandle)
        #expect(try await fixture.update(alice, Fixture.id(1), handle) == .own(Fixture.id(1)))
    }

    @Test("Waiters acquire a key in the order of their requests")
    func order() async throws {
        let table = KeyLocks(maximumWaitersPerKey: 64, maximumWaiters: 64)
        let key = KeyLocks.Key.registration(Fixture.id(1))
        let first = table.makeClaim()
        try await table.acquire(key, for: first)
        let served = Served()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for turn in 1...20 {
                let claim = table.makeClaim()
                // The task returns here once its claim waits.
                group.addImmediateTask {
                    try await table.acquire(key, for: claim)
                    served.claims.withLock { $0.append(claim) }
                    table.releaseAll(claim)
                }
                #expect(table.waiting == turn)
            }
            table.releaseAll(first)
            try await group.waitForAll()
        }
        #expect(served.claims.withLock { $0 } == Array(first + 1...first + 20))
        #expect(table.heldKeys == 0)
    }

    @Test("Waiting is limited for a key and in all, and a rejected call holds nothing")
    func bounds() async throws {
        let table = KeyLocks(maximumWaitersPerKey: 2, maximumWaiters: 3)
        let keys = [1, 2].map { KeyLocks.Key.registration(Fixture.id($0)) }
        let holders = [table.makeClaim(), table.makeClaim()]
        for (key, holder) in zip(keys, holders) { try await table.acquire(key, for: holder) }
        await withTaskGroup(of: Void.self) { group in
            for key in [keys[0], keys[0], keys[1]] {
                let claim = table.makeClaim()
                group.addImmediateTask {
                    try? await table.acquire(key, for: claim)
                    table.releaseAll(claim)
                }
            }
            #expect(table.waiting == 3)
            for key in keys {
                let error = await #expect(throws: LedgerUnavailable.self) {
                    try await table.acquire(key, for: table.makeClaim())
                }
                #expect(error?.isFull == true)
            }
            for holder in holders { table.releaseAll(holder) }
        }
        #expect(table.waiting == 0)
        #expect(table.heldKeys == 0)
    }

    @Test("A cancelled call leaves the queue, and the others continue")
    func cancellation() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        let request = LedgerRequest.update(user: alice, label: Fixture.id(1), handle: handle)
        let first = try await fixture.ledger.begin(request, now: Fixture.noon)
        let impatient = Task { try await fixture.look(request) }
        try await fixture.untilWaiting(1)
        let patient = Task { try await fixture.look(request) }
        try await fixture.untilWaiting(2)
        impatient.cancel()
        await #expect(throws: LedgerUnavailable.self) { try await impatient.value }
        try await fixture.ledger.finish(first, with: .registered(Fixture.id(1), replacing: nil), now: Fixture.noon)
        #expect(try await patient.value == .own(Fixture.id(1)))
        #expect(fixture.ledger.claims.heldKeys == 0)
    }

    @Test("Many concurrent calls on few handles all finish, and each handle has one registration")
    func contention() async throws {
        var limits = StoredLedger.Limits()
        limits.ownershipTransfers = .max
        let fixture = try LedgerFixture(limits: limits)
        let users = [Fixture.alice, Fixture.bob, Fixture.eve]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    let handle = try Fixture.handle(number % 4)
                    let user = users[number % 3]
                    let label = Fixture.id(1 + number % 7)
                    if number.isMultiple(of: 5) {
                        _ = try await fixture.delete(user, label)
                    } else {
                        try await fixture.update(user, label, handle, fresh: Fixture.id(1000 + number))
                    }
                }
            }
            try await group.waitForAll()
        }
        let live = try await fixture.ledger.allRegistrations()
        #expect(live.count <= 4)
        #expect(fixture.ledger.claims.heldKeys == 0)
        #expect(fixture.ledger.claims.waiting == 0)
    }
}

extension LedgerFixture {
    /// Returns once the number of calls wait. The locks report no event, so each pass awaits a read of the ledger, which
    /// follows the reads of the calls.
    func untilWaiting(_ count: Int) async throws {
        while ledger.claims.waiting < count { _ = try await ledger.allRegistrations() }
    }
}
