import GRDB
import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayStore

private typealias Fixture = SecureTextFixture

@Suite("Bounds and removal of the texts of secure sends", .timeLimit(.minutes(5)))
struct SecureTextBoundTests {
    private static func bounds(_ set: (inout StoredSecureTexts.Bounds) -> Void) -> StoredSecureTexts.Bounds {
        var bounds = StoredSecureTexts.Bounds()
        set(&bounds)
        return bounds
    }

    @Test("A recipient without room has no place, and others have one")
    func perUser() async throws {
        let fixture = try SecureTextFixture(bounds: Self.bounds { $0.textsPerUser = 2 })
        try await fixture.store()
        try await fixture.store()
        let reservation = try fixture.reserve(for: [Fixture.alice, Fixture.bob])
        #expect(reservation.places.map(\.owner) == [Fixture.alice] && reservation.full == [Fixture.bob])
        try await reservation.store()
        #expect(fixture.texts.amount.texts == 3)
    }

    @Test("The bytes of a recipient are bounded to the byte")
    func bytesPerUser() async throws {
        let fixture = try SecureTextFixture(bounds: Self.bounds { $0.bytesPerUser = 2 * (28 + 10) })
        try await fixture.store(String(repeating: "x", count: 10))
        #expect(try fixture.reserve(String(repeating: "x", count: 11)).full == [Fixture.bob])
        #expect(try fixture.reserve(String(repeating: "é", count: 5)).full.isEmpty)
    }

    @Test("A full store takes nothing, and leaves nothing reserved")
    func total() async throws {
        for bounds in [Self.bounds { $0.texts = 2 }, Self.bounds { $0.bytes = 60 }] {
            let fixture = try SecureTextFixture(bounds: bounds)
            try await fixture.store()
            #expect(throws: SecureTextsFull.self) { try fixture.reserve(for: [Fixture.alice, Fixture.bob]) }
            #expect(fixture.texts.amount.texts == 1)
            try await fixture.store(for: Fixture.alice)
            #expect(throws: SecureTextsFull.self) { try fixture.reserve() }
            fixture.texts.bounds = StoredSecureTexts.Bounds()
            try await fixture.store()
        }
    }

    @Test("Room that a send does not use is released with its reservation")
    func release() throws {
        let fixture = try SecureTextFixture(bounds: Self.bounds { $0.texts = 1 })
        for _ in 0..<3 {
            let reservation = try fixture.reserve()
            #expect(reservation.places.count == 1 && fixture.texts.amount.texts == 1)
            #expect(throws: SecureTextsFull.self) { try fixture.reserve() }
        }
        #expect(fixture.texts.amount == (0, 0))
    }

    @Test("A write that fails releases the room, and stores no text of the send")
    func failedWrite() async throws {
        let fixture = try SecureTextFixture()
        let reservation = try fixture.reserve(for: [Fixture.alice, Fixture.bob])
        let second = try #require(reservation.places.last)
        // The second insert fails.
        try await fixture.texts.sqlite.write { database in
            try SecureTextTables(SQLiteTransaction(database)).insert(
                [1], second, key: 0, delivery: Fixture.now, expiry: Fixture.now)
        }
        await #expect(throws: SecureTextsUnavailable.self) { try await reservation.store() }
        #expect(try await fixture.unfetched(of: Fixture.alice).isEmpty)
    }

    @Test("Expired texts are removed in steps, with their room")
    func expiry() async throws {
        let fixture = try SecureTextFixture()
        for _ in 0..<3 { try await fixture.store(lifetime: 7200) }
        let owners = (0..<1200).map { UserName(canonical: "user\($0)")! }
        let reservation = try fixture.reserve(for: owners, lifetime: 60)
        try await reservation.store()
        let end = WallTime(seconds: Fixture.now.seconds + 60)
        #expect(try await fixture.texts.removeExpired(at: Fixture.now) == 0)
        #expect(try await fixture.texts.removeExpired(at: end) == 1200)
        #expect(fixture.texts.amount == (3, 3 * 30))
        #expect(try await fixture.unfetched().count == 3)
    }

    @Test("A user's texts are removed with the user, on disk before the call returns, and those of others stay")
    func user() async throws {
        let directory = TemporaryDirectory()
        let fixture = try SecureTextFixture(directory)
        let mine = try await fixture.store()
        let other = try await fixture.store(for: Fixture.alice)
        try await fixture.texts.removeAll(of: Fixture.bob)
        #expect(try await fixture.read(mine) == nil && fixture.texts.amount.texts == 1)
        try fixture.texts.close()
        let again = try SecureTextFixture(directory)
        #expect(try await again.read(mine) == nil)
        #expect(try await again.read(other, as: Fixture.alice)?.text == "hi")
    }

    @Test("Texts whose push did not leave are removed with their room")
    func removal() async throws {
        let fixture = try SecureTextFixture()
        let (gone, kept) = (try await fixture.store(), try await fixture.store())
        fixture.texts.remove([gone])
        try await fixture.flush()
        #expect(try await fixture.unfetched() == [kept] && fixture.texts.amount.texts == 1)
    }
}
