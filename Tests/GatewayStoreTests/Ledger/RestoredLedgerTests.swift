import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = LedgerFixture

@Suite("Ledgers restored from a copy")
struct RestoredLedgerTests {
    private let clock = ManualClock(wall: Fixture.noon)
    private static let names = ["ledger.sqlite", "ledger.sqlite.key"]

    private func session(_ number: UInt64) -> Session {
        Session(
            id: SessionID(random: (9, number)), user: Fixture.alice, login: LoginName("alice"), authenticator: "pam",
            device: nil, began: Fixture.noon, ends: Fixture.noon.adding(86_400_000_000), renewed: Fixture.noon)
    }

    private func startSession(_ fixture: Fixture, _ number: UInt64) async throws -> SessionRegister {
        let register = try SessionRegister(fixture.ledger, clocks: clock.clocks)
        #expect(try await register.start(session(number), since: register.epoch))
        return register
    }

    @Test("A session that ended after the copy was made is not restored")
    func endedSession() async throws {
        let directory = TemporaryDirectory()
        do {
            let fixture = try Fixture(directory)
            let register = try await startSession(fixture, 1)
            _ = try LedgerSnapshot.writeLedger(
                directory("ledger.sqlite"), to: directory("copy.sqlite"), now: Fixture.noon)
            try FileManager.default.copyItem(
                atPath: directory("ledger.sqlite.key"), toPath: directory("copy.sqlite.key"))
            #expect(try await register.delete(session(1).id, of: Fixture.alice))
            try fixture.ledger.close()
        }
        for name in Self.names { try FileManager.default.removeItem(atPath: directory(name)) }
        for (copy, name) in zip(["copy.sqlite", "copy.sqlite.key"], Self.names) {
            try FileManager.default.moveItem(atPath: directory(copy), toPath: directory(name))
        }
        for _ in 0..<2 {
            // A command, or a start that crashed, does not clear the mark.
            let fixture = try Fixture(directory)
            #expect(try fixture.ledger.pendingRestore() != nil)
            try fixture.ledger.close()
        }
        let fixture = try Fixture(directory)
        let pending = try #require(try fixture.ledger.pendingRestore())
        let completed = try fixture.ledger.complete(pending, sessionsBeingDeleted: true, JournaledRegistrations())
        #expect(completed == LedgerRestore(endedSessions: 1, markedRegistrations: 0, uncompared: []))
        #expect(try fixture.ledger.pendingRestore() == nil)
        #expect(try SessionRegister(fixture.ledger, clocks: clock.clocks).allSessions.isEmpty)
        #expect(try fixture.ledger.pendingRestore() == nil)
        // From here on it is an ordinary ledger.
        _ = try await startSession(fixture, 2)
        try fixture.ledger.close()
        let again = try Fixture(directory)
        #expect(try again.ledger.pendingRestore() == nil)
        #expect(try SessionRegister(again.ledger, clocks: clock.clocks).allSessions.map(\.id) == [session(2).id])
    }

    @Test("A file that was copied by other means is detected by its generation")
    func plainCopy() async throws {
        let directory = TemporaryDirectory()
        try Fixture(directory).ledger.close()
        let copy = try directory.bytes("ledger.sqlite")
        try Fixture(directory).ledger.close()
        try directory.write(copy, to: "ledger.sqlite")
        #expect(try Fixture(directory).ledger.pendingRestore() != nil)
    }

    @Test("No restart, crash or first start of a newer version counts as a restore")
    func notRestored() throws {
        let directory = TemporaryDirectory()
        try Fixture(directory).ledger.close()
        #expect(try Fixture(directory).ledger.pendingRestore() == nil)
        // The previous process did not close it.
        #expect(try Fixture(directory).ledger.pendingRestore() == nil)
        // A crash before the ledger got its next generation, and one after it.
        for isBefore in [true, false] {
            try Fixture(directory).ledger.close()
            let present = try #require(try LedgerState.read(directory("ledger.sqlite.state"))).generations
            #expect(present.count == 1)
            let other = [LedgerState.newGeneration()]
            try LedgerState(isClosed: false, generations: isBefore ? present + other : other + present)
                .write(directory("ledger.sqlite.state"))
            #expect(try Fixture(directory).ledger.pendingRestore() == nil)
        }
        try FileManager.default.removeItem(atPath: directory("ledger.sqlite.state"))
        #expect(try Fixture(directory).ledger.pendingRestore() == nil)
    }

    @Test(
        "Registrations deleted, transferred or made after the copy are deleted at the backend; revocations apply again"
    )
    func journaled() async throws {
        let directory = TemporaryDirectory()
        let fixture = try Fixture(directory)
        for number in 1...4 {
            try await fixture.update(
                number == 4 ? Fixture.bob : Fixture.alice, Fixture.id(number), Fixture.handle(number),
                fresh: Fixture.id(number))
        }
        let lines = [
            #"{"seq":1,"at":"2026-11-18T12:00:00.000000Z","kind":"outcome","call":"a","action":"register-update","user":"alice","registration":"1-1-1","result":"accepted"}"#,
            #"{"seq":2,"at":"2026-11-18T12:00:00.000000Z","kind":"outcome","call":"b","action":"register-delete","user":"alice","registration":"2-2-1","result":"accepted"}"#,
            #"{"seq":3,"at":"2026-11-18T12:00:00.000000Z","kind":"outcome","call":"c","action":"hand-over","user":"eve","recipient":"alice","registration":"3-3-1","result":"accepted"}"#,
            #"{"seq":4,"at":"2026-11-18T12:00:00.000000Z","kind":"outcome","call":"d","action":"register-update","user":"eve","registration":"9-9-1","result":"backend-timed-out"}"#,
            #"{"seq":5,"at":"2026-11-18T12:00:00.000000Z","kind":"outcome","call":"e","action":"register-update","user":"eve","registration":"8-8-1","result":"backend-unreachable"}"#,
            #"{"seq":6,"at":"2026-11-18T12:00:00.000000Z","kind":"operator","call":"f","action":"operator-revoke","user":"bob","result":"accepted","operator":0}"#,
            #"{"seq":7,"at":"2026-11-18T12:00:00.000000Z","kind":"operator","call":"g","action":"operator-revoke","user":"alice","result":"accepted","operator":0,"target":"s1"}"#,
            #"{"seq":8,"at":"2026-11-18T11:00:00.000000Z","kind":"outcome","call":"h","action":"register-delete","user":"alice","registration":"1-1-1","result":"accepted"}"#,
        ]
        try directory.write(
            Array((lines.joined(separator: "\n") + "\n").utf8), to: JournalSegmentName(first: 1).text)
        let journaled = try JournaledRegistrations(
            directory: directory.path, since: try #require(WallTime(rfc3339: "2026-11-18T12:00:00Z")))
        #expect(journaled.revoked.keys.sorted() == [Fixture.bob])
        let pending = PendingRestore(since: WallTime(seconds: 0), isFirst: true)
        let completed = try fixture.ledger.complete(pending, sessionsBeingDeleted: true, journaled)
        #expect(completed.markedRegistrations == 3)
        #expect(
            try await fixture.content() == [
                "1-1-1 alice live", "2-2-1 alice deleting", "3-3-1 alice deleting", "4-4-1 bob deleting",
            ])
        #expect(
            try await Set(fixture.ledger.pendingDeletion(limit: 9))
                == [Fixture.id(2), Fixture.id(3), Fixture.id(4), Fixture.id(9)])
        #expect(
            try await fixture.look(.sweep(Fixture.id(9)))
                == .pendingDeletion(Fixture.id(9), owner: nil, because: .restored))
    }
}
