import Foundation
import GRDB
import GatewayCore
import GatewaySupport
import Synchronization
import Testing

@testable import GatewayStore

private typealias Fixture = SecureTextFixture

@Suite("Texts of secure sends", .timeLimit(.minutes(5)))
struct SecureTextTests {
    @Test("A text is read by its recipient alone, with its id, until it expires")
    func reading() async throws {
        let fixture = try SecureTextFixture()
        let text = "say \"hi\" 😀 \u{0}\u{2028}"
        let id = try await fixture.store(text)
        #expect(try await fixture.read(id) == SecureText(id: id, text: text, wasFetched: false))
        #expect(try await fixture.read(id, after: 3599)?.text == text)
        #expect(try await fixture.read(id, after: 3600) == nil)
        #expect(try await fixture.read(id, as: Fixture.alice) == nil)
        #expect(try await fixture.read(SecureID(Int64(id.number) ^ 1)) == nil)
        #expect(try await fixture.read(nil) == nil)
    }

    @Test("A fetched text is marked and leaves the list")
    func fetching() async throws {
        let fixture = try SecureTextFixture()
        let (first, second) = (try await fixture.store("1"), try await fixture.store("2"))
        fixture.texts.markFetched(first, at: Fixture.now)
        try await fixture.flush()
        #expect(try await fixture.read(first)?.wasFetched == true)
        #expect(try await fixture.read(second)?.wasFetched == false)
        #expect(try await fixture.unfetched() == [second])
    }

    @Test("The list is newest first, bounded, from a time on, without texts that are not delivered yet or expired")
    func listing() async throws {
        let fixture = try SecureTextFixture()
        var ids: [SecureID] = []
        for delay in 0..<5 { ids.append(try await fixture.store(after: Int64(delay) * 10)) }
        try await fixture.store(after: 0, lifetime: 30)
        try await fixture.store(for: Fixture.alice, after: 5)
        #expect(try await fixture.unfetched(after: 40) == ids.reversed())
        #expect(try await fixture.unfetched(limit: 2, after: 40) == Array(ids.reversed().prefix(2)))
        #expect(try await fixture.unfetched(since: 20, after: 40) == Array(ids[2...].reversed()))
        #expect(try await fixture.unfetched(after: 20).contains(ids[3]) == false)
        #expect(try await fixture.unfetched(of: Fixture.alice, after: 40).count == 1)
    }

    @Test("Text and key are private files, and no file but the key's reveals a text")
    func privacy() async throws {
        let fixture = try SecureTextFixture()
        let secret = "a text that nobody else may read: 4711"
        let id = try await fixture.store(secret)
        func expectSealed() throws {
            for name in try fixture.directory.names() {
                #expect(try fixture.directory.mode(name) == 0o600, "\(name)")
                #expect(try Data(fixture.directory.bytes(name)).range(of: Data(secret.utf8)) == nil, "\(name)")
            }
        }
        let names = try fixture.directory.names()
        #expect(names.contains(Fixture.file + "-wal") && names.contains(Fixture.file + ".key"))
        try expectSealed()
        #expect(try await fixture.read(id)?.text == secret)
        try fixture.texts.close()
        try expectSealed()
    }

    @Test("Texts survive a restart, with their ids and bounds")
    func restart() async throws {
        let directory = TemporaryDirectory()
        let first = try SecureTextFixture(directory)
        let id = try await first.store("kept")
        let amount = first.texts.amount
        try first.texts.close()
        let second = try SecureTextFixture(directory)
        #expect(try await second.read(id)?.text == "kept")
        #expect(second.texts.amount == amount && amount.texts == 1 && second.texts.keyProblem == nil)
    }

    @Test("A row that is given another id, owner or expiry is not read")
    func binding() async throws {
        let fixture = try SecureTextFixture()
        let id = try await fixture.store("bob's")
        try await fixture.texts.sqlite.write { database in
            try database.execute(sql: "UPDATE text SET owner = 'alice'")
        }
        #expect(try await fixture.read(id, as: Fixture.alice) == nil)
        try await fixture.texts.sqlite.write { database in
            try database.execute(sql: "UPDATE text SET owner = 'bob', expiry = expiry + 1000000")
        }
        #expect(try await fixture.read(id) == nil)
        try await fixture.texts.sqlite.write { database in
            try database.execute(sql: "UPDATE text SET expiry = expiry - 1000000, id = id + 1")
        }
        #expect(try await fixture.read(SecureID(Int64(id.number) + 1)) == nil)
        try await fixture.texts.sqlite.write { try $0.execute(sql: "UPDATE text SET id = id - 1") }
        #expect(try await fixture.read(id)?.text == "bob's")
    }

    @Test("Ids are unique among all texts, also while they are only reserved")
    func ids() async throws {
        // Each number comes four times.
        let next = Atomic<UInt64>(0)
        let fixture = try SecureTextFixture { (next.add(1, ordering: .relaxed).oldValue / 4) << 33 }
        var reservations: [SecureTextReservation] = []
        for owner in [Fixture.alice, Fixture.bob, Fixture.alice] {
            reservations.append(try fixture.reserve(for: [owner]))
        }
        let ids = reservations.flatMap(\.places).map(\.id)
        #expect(Set(ids).count == 3)
        for reservation in reservations { try await reservation.store() }
        #expect(try await fixture.unfetched(of: Fixture.alice).count == 2)
    }

    @Test("A look-up uses the index of the owner, so it never visits the rows of others")
    func plan() async throws {
        let fixture = try SecureTextFixture()
        let plans = try await fixture.texts.sqlite.read { database in
            func plan(_ sql: String, _ arguments: StatementArguments) throws -> [String] {
                try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(sql)", arguments: arguments).map { $0["detail"] }
            }
            return [
                try plan(SecureTextTables(SQLiteTransaction(database)).select, ["bob", 1, 2, 3]),
                try plan(SecureTextTables(SQLiteTransaction(database)).selectUnfetched, ["bob", 0, 1, 2, 3, 4]),
            ]
        }
        #expect(plans[0] == ["SEARCH text USING INDEX text_owner (owner=? AND id=? AND key=?)"], "\(plans)")
        #expect(
            plans[1] == ["SEARCH text USING INDEX text_unfetched (owner=? AND delivery>? AND delivery<?)"], "\(plans)")
    }
}
