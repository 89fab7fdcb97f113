import Foundation
import GRDB
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = LedgerFixture

@Suite("Ledger: files", .timeLimit(.minutes(5)))
struct LedgerFileTests {
    @Test("All data is kept over a restart, for labels and handles alike")
    func restart() async throws {
        let directory = TemporaryDirectory()
        let handle = try Fixture.handle(1)
        do {
            let fixture = try LedgerFixture(directory)
            try await fixture.update(Fixture.alice, Fixture.id(7), handle, fresh: Fixture.id(1))
            try fixture.ledger.close()
        }
        let fixture = try LedgerFixture(directory)
        #expect(try await fixture.content() == ["1-1-1 alice live"])
        #expect(try await fixture.look(.create(user: Fixture.bob, handle: handle)) == .queryWithoutHandle)
        #expect(try await fixture.look(.delete(user: Fixture.alice, label: Fixture.id(7))) == .owned(Fixture.id(1)))
    }

    @Test("A closed ledger is complete in its one file, with an empty log")
    func wholeFile() async throws {
        let fixture = try LedgerFixture()
        try await fixture.update(Fixture.alice, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
        // With open readers.
        #expect(try await fixture.content() == ["1-1-1 alice live"])
        try fixture.ledger.close()
        #expect(((try? fixture.directory.bytes("ledger.sqlite-wal")) ?? []).isEmpty)
        let copy = TemporaryDirectory()
        try PrivateFiles.makeDirectory(copy.path)
        for name in ["ledger.sqlite", "ledger.sqlite.key"] {
            try PrivateFiles.write(fixture.directory.bytes(name), toNew: copy(name))
        }
        #expect(try await LedgerFixture(copy).content() == ["1-1-1 alice live"])
    }

    @Test("All files are accessible to the owner only, and none contains a handle")
    func privacy() async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1, .wns)
        try await fixture.update(Fixture.alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        #expect(try fixture.directory.mode() == 0o700)
        let names = try fixture.directory.names()
        #expect(
            Set(names).isSuperset(of: ["ledger.sqlite", "ledger.sqlite.key", "ledger.sqlite.lock", "ledger.sqlite-wal"])
        )
        for name in names {
            #expect(try fixture.directory.mode(name) == 0o600, "\(name)")
            #expect(try Data(fixture.directory.bytes(name)).range(of: Data(handle.text.utf8)) == nil, "\(name)")
        }
    }

    @Test("Commits are durable: WAL and synchronous=FULL on the writing connection")
    func durability() throws {
        let fixture = try LedgerFixture()
        let (synchronous, mode) = try fixture.ledger.sqlite.writeWithoutTransaction { database in
            (try SQLiteDatabase.synchronous(database), try String.fetchOne(database, sql: "PRAGMA journal_mode"))
        }
        #expect(synchronous == 2)
        #expect(mode == "wal")
    }

    @Test("A ledger of a newer version is rejected with its version number")
    func newerSchema() throws {
        let directory = TemporaryDirectory()
        do {
            let fixture = try LedgerFixture(directory)
            try fixture.ledger.sqlite.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 7") }
            try fixture.ledger.close()
        }
        let error = #expect(throws: LedgerUnavailable.self) { try LedgerFixture(directory) }
        // The gateway shows this message when it does not start.
        let version = LedgerSchema.version
        #expect(
            error.map { "\($0)" }
                == "the ledger has schema version 7; this program reads versions up to \(version)")
    }

    @Test("A database of another program is rejected")
    func foreignDatabase() throws {
        let directory = TemporaryDirectory()
        try PrivateFiles.makeDirectory(directory.path)
        try PrivateFiles.makeFile(directory("ledger.sqlite"))
        let other = try DatabaseQueue(path: directory("ledger.sqlite"))
        try other.write { try $0.execute(sql: "CREATE TABLE other (a)") }
        try other.close()
        #expect(throws: LedgerUnavailable.self) { try LedgerFixture(directory) }
    }

    @Test("A second opening is rejected until the first is closed")
    func secondOpener() throws {
        let directory = TemporaryDirectory()
        do {
            let first = try LedgerFixture(directory)
            let error = #expect(throws: LedgerUnavailable.self) { try LedgerFixture(directory) }
            #expect(error?.detail.contains("locked") == true)
            try first.ledger.close()
        }
        _ = try LedgerFixture(directory)
    }

    @Test("A file that others may read is rejected", arguments: ["ledger.sqlite", "ledger.sqlite.key"])
    func openFile(name: String) throws {
        let directory = TemporaryDirectory()
        do { try LedgerFixture(directory).ledger.close() }
        #expect(chmod(directory(name), 0o644) == 0)
        let error = #expect(throws: LedgerUnavailable.self) { try LedgerFixture(directory) }
        #expect(error?.detail.contains("0600") == true)
    }

    @Test("A ledger without its own complete key does not open, because every handle would look unbound")
    func key() throws {
        let directory = TemporaryDirectory()
        do { try LedgerFixture(directory).ledger.close() }
        for bytes in [[UInt8](repeating: 7, count: 32), [UInt8](repeating: 7, count: 16), []] {
            try directory.write(bytes, to: "ledger.sqlite.key")
            #expect(throws: LedgerUnavailable.self) { try LedgerFixture(directory) }
        }
        try FileManager.default.removeItem(atPath: directory("ledger.sqlite.key"))
        #expect(throws: LedgerUnavailable.self) { try LedgerFixture(directory) }
        #expect(try !directory.names().contains("ledger.sqlite.key"))
    }

    @Test("After a close the ledger reports that it is closed")
    func closed() async throws {
        let fixture = try LedgerFixture()
        let claim = try await fixture.ledger.begin(.create(user: Fixture.alice, handle: nil), now: Fixture.noon)
        try fixture.ledger.close()
        await #expect(throws: LedgerUnavailable.self) { try await fixture.content() }
        do throws(LedgerUnavailable) {
            try await fixture.ledger.finish(claim, with: .reserved(Fixture.id(1), handle: nil), now: Fixture.noon)
            Issue.record("a closed ledger took a change")
        } catch {
            #expect(!error.detail.isEmpty)
        }
    }

    @Test(
        "A copy of a ledger in use, or of a closed one, opens as a ledger and counts as restored",
        arguments: [true, false])
    func snapshot(inUse: Bool) async throws {
        let fixture = try LedgerFixture()
        let handle = try Fixture.handle(1)
        try await fixture.update(Fixture.alice, Fixture.id(1), handle, fresh: Fixture.id(1))
        if !inUse { try fixture.ledger.close() }
        let copy = fixture.directory("copy.sqlite")
        _ = try LedgerSnapshot.writeLedger(fixture.directory("ledger.sqlite"), to: copy, now: Fixture.noon)
        #expect(try fixture.directory.mode("copy.sqlite") == 0o600)
        try FileManager.default.copyItem(atPath: fixture.directory("ledger.sqlite.key"), toPath: copy + ".key")
        let restored = try StoredLedger(file: copy)
        #expect(try await restored.registrations(of: Fixture.alice).map(\.id) == [Fixture.id(1)])
        #expect(try await !restored.isHeld(Fixture.id(1), forAnotherThan: handle))
        #expect(try restored.pendingRestore() != nil)
    }

    @Test("No copy is made of a damaged ledger")
    func damagedSnapshot() async throws {
        let fixture = try LedgerFixture()
        for number in 1...80 {
            try await fixture.update(
                Fixture.alice, Fixture.id(number), try Fixture.handle(number), fresh: Fixture.id(number))
        }
        try fixture.ledger.close()
        var bytes = try fixture.directory.bytes("ledger.sqlite")
        for page in 1..<(bytes.count / 4096) where bytes[page * 4096] == 0x0D {
            for index in (page * 4096 + 8)..<(page * 4096 + 64) { bytes[index] = 0xFF }
        }
        try fixture.directory.write(bytes, to: "ledger.sqlite")
        #expect(throws: LedgerUnavailable.self) {
            try LedgerSnapshot.writeLedger(
                fixture.directory("ledger.sqlite"), to: fixture.directory("copy.sqlite"), now: Fixture.noon)
        }
    }

    @Test("The rules of names are stored, and read with the owners while the ledger is open")
    func nameRules() async throws {
        let directory = TemporaryDirectory()
        #expect(try LedgerNames(file: directory("ledger.sqlite")) == nil)
        do {
            let fixture = try LedgerFixture(directory)
            #expect(try fixture.ledger.nameRules() == nil)
            for rules in ["first", "second \u{e9}"] {
                try fixture.ledger.storeNameRules(rules)
                #expect(try fixture.ledger.nameRules() == rules)
            }
            try await fixture.update(Fixture.bob, Fixture.id(1), try Fixture.handle(1), fresh: Fixture.id(1))
            _ = try await fixture.create(Fixture.alice, nil, given: Fixture.id(2))
            #expect(try fixture.ledger.owners() == [Fixture.alice, Fixture.bob])
            let names = try #require(try LedgerNames(file: directory("ledger.sqlite")))
            #expect(names.rules == "second \u{e9}" && names.owners == [Fixture.alice, Fixture.bob])
            try fixture.ledger.close()
        }
        #expect(try LedgerNames(file: directory("ledger.sqlite"))?.owners == [Fixture.alice, Fixture.bob])
        #expect(try LedgerFixture(directory).ledger.nameRules() == "second \u{e9}")
        try directory.write(Array("no database".utf8), to: "other.sqlite")
        #expect(throws: LedgerUnavailable.self) { try LedgerNames(file: directory("other.sqlite")) }
    }

    @Test("All registrations can be listed in pages")
    func pages() async throws {
        let fixture = try LedgerFixture()
        for number in 1...7 { _ = try await fixture.create(Fixture.alice, nil, given: Fixture.id(number)) }
        var seen: [RegistrationID] = []
        while true {
            let page = try await fixture.ledger.allRegistrations(after: seen.last, limit: 3)
            seen += page.map(\.id)
            if page.count < 3 { break }
        }
        #expect(seen == (1...7).map(Fixture.id))
    }
}
