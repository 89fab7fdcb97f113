import Foundation
import GRDB
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = LedgerFixture

/// Ledgers whose file was damaged while it was closed, in many ways in which disks fail.
@Suite("Damaged ledgers", .timeLimit(.minutes(10)))
struct DamagedLedgerTests {
    private static let file = "ledger.sqlite"
    private static let page = 4096

    /// A cleanly closed ledger with all kinds of rows, and its content.
    private static func sound() async throws -> (TemporaryDirectory, content: [String], older: [UInt8]) {
        let directory = TemporaryDirectory()
        let fixture = try Fixture(directory)
        try await fixture.ledger.write { tables in
            for number in 0..<400 {
                try tables.store(
                    .init(
                        id: Fixture.id(number), owner: UserName(canonical: "user\(number % 50)")!,
                        account: nil, handle: nil, state: .reserved, created: Fixture.noon, lastSeen: Fixture.noon))
            }
        }.get()
        try fixture.emptyLog()
        let older = try directory.bytes(file)
        let register = try SessionRegister(fixture.ledger, clocks: ManualClock(wall: Fixture.noon).clocks)
        for number in 0..<400 {
            let user = UserName(canonical: "user\(number % 50)")!
            try await fixture.update(user, Fixture.id(number), try handle(number), fresh: Fixture.id(number))
            if number % 4 == 0 {
                let session = Session(
                    id: SessionID(random: (1, UInt64(number))), user: user, login: LoginName(user.text),
                    authenticator: "pam", device: nil, began: Fixture.noon, ends: Fixture.noon.adding(86_400_000_000),
                    renewed: Fixture.noon)
                _ = try await register.start(session, since: register.epoch)
            }
            if number % 40 == 0 { try await register.revoke(user) }
        }
        let content = try await content(fixture.ledger)
        try fixture.ledger.close()
        return (directory, content, older)
    }

    private static func handle(_ number: Int) throws -> DeviceHandle {
        let digits = String(number)
        return try HandleRules().handle(
            String(repeating: "A", count: 60) + String(repeating: "0", count: 4 - digits.count) + digits, of: .apns)
    }

    /// Reads everything from a ledger. Throws where it cannot be read.
    private static func content(_ ledger: StoredLedger) async throws -> [String] {
        var lines = try await ledger.allRegistrations(limit: 10_000).map { "\($0)" }
        for number in 0..<50 {
            let user = UserName(canonical: "user\(number)")!
            lines += try await ledger.registrations(of: user).map { "\($0.id) of \(user)" }
        }
        let register = try SessionRegister(ledger, clocks: ManualClock(wall: Fixture.noon).clocks)
        lines += register.allSessions.map { "\($0)" }
        lines += try await ledger.pendingDeletion(limit: 10_000).map { "deleting \($0)" }
        lines += try await register.registeringAccounts().map { "\($0)" }
        lines.append("\(try await ledger.migration()) \(try ledger.owners()) \(try ledger.nameRules() ?? "-")")
        for number in stride(from: 0, to: 400, by: 7) {
            let claim = try await ledger.begin(
                .update(user: Fixture.eve, label: Fixture.id(9999), handle: try handle(number)), now: Fixture.noon)
            lines.append("\(number): \(claim.decision)")
        }
        return lines
    }

    /// Returns the file with one kind of damage.
    private static func damaged(
        _ bytes: [UInt8], older: [UInt8], by random: inout SplitMix
    ) -> (bytes: [UInt8], how: String) {
        var bytes = bytes
        let pages = bytes.count / page
        let number = Int.random(in: 0..<pages, using: &random)
        let start = number * page
        switch Int.random(in: 0..<7, using: &random) {
        case 0:
            bytes.replaceSubrange(start..<(start + page), with: [UInt8](repeating: 0, count: page))
            return (bytes, "page \(number) zeroed")
        case 1:
            let sector = start + 512 * Int.random(in: 0..<8, using: &random)
            bytes.replaceSubrange(sector..<(sector + 512), with: [UInt8](repeating: 0, count: 512))
            return (bytes, "sector at \(sector) zeroed")
        case 2:
            let half = start + page / 2
            for place in half..<(half + page / 2) { bytes[place] = UInt8.random(in: .min ... .max, using: &random) }
            return (bytes, "half of page \(number) torn")
        case 3:
            let count = Int.random(in: 0..<bytes.count, using: &random)
            return (Array(bytes.prefix(count)), "cut to \(count) bytes")
        case 4:
            let count = number * page
            return (Array(bytes.prefix(count)), "cut to \(number) pages")
        case 5:
            let from = Int.random(in: 0..<(older.count / page), using: &random) * page
            bytes.replaceSubrange(start..<(start + page), with: older[from..<(from + page)])
            return (bytes, "page \(number) replaced by an older page \(from / page)")
        default:
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                bytes[start + Int.random(in: 0..<page, using: &random)] = UInt8.random(
                    in: .min ... .max, using: &random)
            }
            return (bytes, "bytes of page \(number) flipped")
        }
    }

    @Test("None of 400 damaged ledgers crashes the process, and none with changed content is used silently")
    func damage() async throws {
        let (directory, content, older) = try await Self.sound()
        let sound = try directory.bytes(Self.file)
        let key = try directory.bytes(Self.file + ".key")
        let state = try directory.bytes(Self.file + ".state")
        #expect(String(decoding: state, as: UTF8.self).hasPrefix("closed "))
        // Otherwise every ledger below would have other content, damaged or not.
        let whole = TemporaryDirectory()
        try PrivateFiles.makeDirectory(whole.path)
        for (name, content) in [("", sound), (".key", key), (".state", state)] {
            try PrivateFiles.write(content, toNew: whole(Self.file + name))
        }
        let undamaged = try StoredLedger(file: whole(Self.file), now: Fixture.noon)
        #expect(try await Self.content(undamaged) == content)
        try undamaged.close()
        var random = SplitMix(seed: 20_261_123)
        var (refused, found, unharmed) = (0, 0, 0)
        for number in 0..<400 {
            let place = TemporaryDirectory()
            try PrivateFiles.makeDirectory(place.path)
            let (bytes, how) = Self.damaged(sound, older: older, by: &random)
            // For half of them the gateway had stopped cleanly.
            let text = number.isMultiple(of: 2) ? state : Array("open".utf8) + state.dropFirst("closed".utf8.count)
            for (name, content) in [("", bytes), (".key", key), (".state", text)] {
                try PrivateFiles.write(content, toNew: place(Self.file + name))
            }
            let ledger: StoredLedger
            do {
                ledger = try StoredLedger(file: place(Self.file), now: Fixture.noon)
            } catch {
                #expect(!error.description.isEmpty)
                #expect(!error.description.contains("SELECT") && !error.description.contains("fatal"), "\(error)")
                refused += 1
                continue
            }
            let read = try? await Self.content(ledger)
            let damage = (try? await ledger.checkIntegrity()) ?? ledger.fault
            if damage != nil {
                found += 1
                #expect(ledger.fault != nil)
                // Registrations are rejected from now on.
                await #expect(throws: LedgerUnavailable.self) {
                    _ = try await ledger.begin(.create(user: Fixture.eve, handle: nil), now: Fixture.noon)
                }
            } else if read == content {
                unharmed += 1
            } else {
                // SQLite's checks cannot detect single bytes changed inside a value that keeps its type and order.
                #expect(
                    how.contains("flipped") || how.contains("torn") || how.contains("sector") || read == nil, "\(how)")
            }
            try? ledger.close()
        }
        print("damaged ledgers: \(refused) refused, \(found) found while in use, \(unharmed) with nothing lost")
        #expect(refused > 100 && found > 20 && unharmed > 0)
    }

    @Test("A ledger that was in use and is empty or missing is not opened as a new one")
    func lost() throws {
        let directory = TemporaryDirectory()
        try Fixture(directory).ledger.close()
        for name in [Self.file, Self.file + "-wal", Self.file + "-shm"] {
            try? FileManager.default.removeItem(atPath: directory(name))
        }
        let error = #expect(throws: LedgerUnavailable.self) { try Fixture(directory) }
        #expect(error?.description.contains("was in use") == true)
        // A file that a failed start made would be taken for data by a restore.
        #expect(!FileManager.default.fileExists(atPath: directory(Self.file)))
        try FileManager.default.removeItem(atPath: directory(Self.file + ".state"))
        try FileManager.default.removeItem(atPath: directory(Self.file + ".key"))
        _ = try Fixture(directory)
    }

    @Test("NULL and values of other types in any column are errors and do not crash the process")
    func values() async throws {
        let fixture = try Fixture()
        try await fixture.update(Fixture.alice, Fixture.id(1), Fixture.handle(1), fresh: Fixture.id(1))
        let queries = [
            "SELECT NULL AS id, 'alice' AS owner, 'live' AS state", "SELECT '1-1-1' AS id, 7 AS owner, 'live' AS state",
            "SELECT '1-1-1' AS id, 'alice' AS owner, NULL AS state", "SELECT 1 AS x",
            "SELECT '1-1-1' AS id, 'alice' AS owner, 'live' AS state, NULL AS login, NULL AS authenticator, 'apns' AS service, 'x' AS handle",
            """
            SELECT '1-1-1' AS id, 'alice' AS owner, 'live' AS state, NULL AS login, NULL AS authenticator,
                NULL AS service, NULL AS handle, 'x' AS created, 1 AS last_seen, NULL AS reason, NULL AS unconfirmed
            """,
            """
            SELECT '1-1-1' AS id, 'alice' AS owner, 'live' AS state, NULL AS login, NULL AS authenticator,
                NULL AS service, NULL AS handle, 9223372036854775807 AS created, 1 AS last_seen
            """,
        ]
        for query in queries {
            await #expect(throws: LedgerUnavailable.self, "\(query)") {
                try await fixture.ledger.read { tables in
                    _ = try LedgerTables.Registration(row: try #require(try tables.firstRow(sql: query)))
                }
            }
            await #expect(throws: LedgerUnavailable.self, "\(query)") {
                try await fixture.ledger.read { tables in
                    _ = try Session(row: try #require(try tables.firstRow(sql: query)))
                }
            }
        }
    }
}
