import GRDB
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = LedgerFixture

@Suite("The upstreams of registrations in the ledger", .overEachStore)
struct UpstreamLedgerTests {
    private static let backend = UpstreamName("http://127.0.0.1:5000")
    private static let hub = UpstreamName("https://contoso.servicebus.windows.net:443/news")

    /// Registers a device at an upstream. `fresh` is the id of the upstream's look-up by handle. Returns whether the
    /// registration was elsewhere.
    @discardableResult
    private func register(
        _ user: UserName, _ handle: DeviceHandle, at upstream: UpstreamName, label: RegistrationID = Fixture.id(1),
        fresh: RegistrationID, in ledger: StoredLedger
    ) async throws -> Bool {
        let claim = try await ledger.begin(
            .update(user: user, label: label, handle: handle), at: upstream, now: Fixture.noon, isRevoked: { false })
        let isElsewhere = claim.isElsewhere
        let known = claim.decision.updated
        let id = isElsewhere ? fresh : known ?? fresh
        _ = try await ledger.prepare(id, replacing: id == known ? nil : known, for: claim, now: Fixture.noon)
        try await ledger.finish(claim, with: .registered(id, replacing: id == known ? nil : known), now: Fixture.noon)
        return isElsewhere
    }

    private func upstreams(_ ledger: StoredLedger) async throws -> [String: UpstreamName?] {
        try await ledger.allRegistrations().reduce(into: [:]) { $0[$1.id.text] = .some($1.upstream) }
    }

    private func sweepPlace(_ id: RegistrationID, _ ledger: StoredLedger) async throws -> RegistrationPlace? {
        let claim = try await ledger.begin(.sweep(id), now: Fixture.noon)
        guard case .pendingDeletion = claim.decision else { return nil }
        return claim.place
    }

    @Test("A device that moves to another upstream under another id is deleted at the former one")
    func moves() async throws {
        let fixture = try Fixture()
        let handle = try Fixture.handle(1, .fcm)
        let ledger = fixture.ledger
        #expect(try await !register(Fixture.alice, handle, at: Self.backend, fresh: Fixture.id(1), in: ledger))
        #expect(try await upstreams(ledger) == ["1-1-1": Self.backend])
        // Bob takes the device over at the hub, which has another id for it.
        #expect(try await register(Fixture.bob, handle, at: Self.hub, fresh: Fixture.id(2), in: ledger))
        #expect(try await upstreams(ledger) == ["2-2-1": Self.hub])
        #expect(try await ledger.pendingDeletion(limit: 9) == [Fixture.id(1)])
        #expect(
            try await sweepPlace(Fixture.id(1), ledger) == RegistrationPlace(service: .fcm, upstream: Self.backend))
        // The next registration is an ordinary one.
        #expect(try await !register(Fixture.bob, handle, at: Self.hub, fresh: Fixture.id(3), in: ledger))
        #expect(try await upstreams(ledger) == ["2-2-1": Self.hub])
    }

    @Test("A device keeps its id where both upstreams reach the same hub, and nothing is deleted")
    func stays() async throws {
        let fixture = try Fixture()
        let handle = try Fixture.handle(1)
        try await register(Fixture.alice, handle, at: Self.backend, fresh: Fixture.id(1), in: fixture.ledger)
        for upstream in [Self.hub, Self.backend] {
            #expect(try await register(Fixture.alice, handle, at: upstream, fresh: Fixture.id(1), in: fixture.ledger))
            #expect(try await upstreams(fixture.ledger) == ["1-1-1": upstream])
        }
        #expect(try await fixture.ledger.pendingDeletion(limit: 9).isEmpty)
    }

    @Test("A device that moves back before its old registration was deleted keeps it")
    func returns() async throws {
        let fixture = try Fixture()
        let handle = try Fixture.handle(1)
        let ledger = fixture.ledger
        try await register(Fixture.alice, handle, at: Self.backend, fresh: Fixture.id(1), in: ledger)
        try await register(Fixture.alice, handle, at: Self.hub, fresh: Fixture.id(2), in: ledger)
        try await register(Fixture.alice, handle, at: Self.backend, fresh: Fixture.id(1), in: ledger)
        #expect(try await upstreams(ledger) == ["1-1-1": Self.backend])
        #expect(try await ledger.pendingDeletion(limit: 9) == [Fixture.id(2)])
        #expect(try await sweepPlace(Fixture.id(2), ledger)?.upstream == Self.hub)
    }

    @Test("A rotated handle moves too, and an id that is only requested moves the device's registration")
    func rotation() async throws {
        let fixture = try Fixture()
        let ledger = fixture.ledger
        try await register(Fixture.alice, try Fixture.handle(1), at: Self.backend, fresh: Fixture.id(1), in: ledger)
        let isElsewhere = try await register(
            Fixture.alice, try Fixture.handle(2), at: Self.hub, label: Fixture.id(1), fresh: Fixture.id(2), in: ledger)
        #expect(isElsewhere)
        #expect(try await ledger.pendingDeletion(limit: 9) == [Fixture.id(1)])

        let handle = try Fixture.handle(3)
        try await register(
            Fixture.bob, handle, at: Self.backend, label: Fixture.id(3), fresh: Fixture.id(3), in: ledger)
        let claim = try await ledger.begin(
            .create(user: Fixture.bob, handle: handle), at: Self.hub, now: Fixture.noon, isRevoked: { false })
        try await ledger.finish(claim, with: .reserved(Fixture.id(4), handle: handle), now: Fixture.noon)
        #expect(try await ledger.pendingDeletion(limit: 9) == [Fixture.id(1), Fixture.id(3)])
        #expect(try await sweepPlace(Fixture.id(3), ledger)?.upstream == Self.backend)
    }

    @Test("Registrations without an upstream get that of their platform once")
    func assignment() async throws {
        let fixture = try Fixture()
        let ledger = fixture.ledger
        try await fixture.update(Fixture.alice, Fixture.id(1), try Fixture.handle(1), fresh: Fixture.id(1))
        try await fixture.update(Fixture.bob, Fixture.id(2), try Fixture.handle(2, .fcm), fresh: Fixture.id(2))
        #expect(try await upstreams(ledger) == ["1-1-1": nil, "2-2-1": nil])
        try await ledger.assignUpstreams([.fcm: Self.hub])
        #expect(try await upstreams(ledger) == ["1-1-1": nil, "2-2-1": Self.hub])
        try await ledger.assignUpstreams([.apns: Self.backend, .fcm: Self.backend])
        #expect(try await upstreams(ledger) == ["1-1-1": Self.backend, "2-2-1": Self.hub])
    }

    @Test("More registrations than one transaction changes get their upstream")
    func assignmentInSteps() async throws {
        let ledger = try Fixture().ledger
        let rows = (1...5001).map {
            "('\($0)-\($0)-1', 'alice', 'apns', decode('\(Self.hex($0))', 'hex'), 'live', 0, 0)"
        }
        let literals = (1...5001).map { "('\($0)-\($0)-1', 'alice', 'apns', x'\(Self.hex($0))', 'live', 0, 0)" }
        let columns = "registration (id, owner, service, handle, state, created, last_seen)"
        let isFile = ledger.storage is SQLiteLedgerFile
        try await ledger.write { tables in
            try tables.execute(
                sql: "INSERT INTO \(columns) VALUES " + (isFile ? literals : rows).joined(separator: ","))
        }.get()
        try await ledger.assignUpstreams([.apns: Self.backend])
        let left = try await ledger.read {
            try $0.count(sql: "SELECT count(*) FROM registration WHERE upstream IS NULL")
        }
        #expect(left == 0)
    }

    /// Returns a number as 32 hexadecimal digits.
    private static func hex(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }
}
