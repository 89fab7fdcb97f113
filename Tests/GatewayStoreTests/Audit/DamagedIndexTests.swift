import Foundation
import GRDB
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

@Suite("Audit: a damaged index", .timeLimit(.minutes(10)))
struct DamagedIndexTests {
    private static let rounds = 300

    @Test("Three hundred damaged files: none crashes the process, and each result equals that of the segments")
    func damagedFiles() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected(isBrief: true)
        #expect(try fixture.asked(isBrief: true).answers == expected)
        let good = try fixture.directory.bytes(AuditIndex.fileName)
        var damage = IndexDamage(seed: 1)
        for round in 0..<Self.rounds {
            try IndexDamage.overwrite(fixture.indexPath, with: good)
            try fixture.vouch()
            try IndexDamage.overwrite(fixture.indexPath, with: damage.apply(to: good))
            let (answers, obstacle) = try fixture.asked(isBrief: true)
            #expect(answers == expected, "round \(round)")
            #expect(obstacle == nil, "round \(round)")
            #expect(CleanShutdownMarker(database: fixture.indexPath).isValid, "round \(round)")
        }
    }

    @Test("Undetected damage crashes neither the process nor a query, and a comparison finds it")
    func hiddenDamage() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected(isBrief: true)
        #expect(try fixture.asked(isBrief: true).answers == expected)
        let good = try fixture.directory.bytes(AuditIndex.fileName)
        var damage = IndexDamage(seed: 2)
        var found = 0
        for round in 0..<Self.rounds {
            let damaged = damage.apply(to: good)
            for isCompared in [true, false] {
                // A file that was removed as damaged is created again.
                try fixture.directory.write(damaged, to: AuditIndex.fileName)
                chmod(fixture.indexPath, 0o600)
                guard !damaged.isEmpty else { continue }
                try fixture.vouch()
                let trail = AuditTrail(directory: fixture.directory.path)
                defer { trail.close() }
                guard isCompared else {
                    trail.update()
                    _ = try AuditFixture.answers(trail, isBrief: true)
                    continue
                }
                let before = try fixture.inventory()
                let comparison = AuditTrail.compareIndex(directory: fixture.directory.path)
                #expect(try fixture.inventory() == before, "round \(round)")
                guard case .agrees = comparison else {
                    found += 1
                    continue
                }
                trail.update()
                #expect(try AuditFixture.answers(trail, isBrief: true) == expected, "round \(round)")
            }
        }
        #expect(found > Self.rounds / 2)
    }

    @Test("Any mixture of pages that a power failure may leave leads to a rebuilt index")
    func powerFailures() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected(isBrief: true)
        let index = try AuditIndex(SegmentFiles(directory: fixture.directory.path, blockBytes: 2000))
        var states: [[UInt8]] = []
        while true {
            var blocks = 0
            try index.update(isWanted: {
                blocks += 1
                return blocks <= 2
            })
            states.append(try fixture.directory.bytes(AuditIndex.fileName))
            if blocks <= 2 || states.count > 50 { break }
        }
        var random = SplitMix(seed: 3)
        let log = try fixture.directory.bytes(AuditIndex.fileName + "-wal")
        for round in 0..<60 {
            let crashed = try fixture.copy()
            // Each page is from any of the times at which it may have been written.
            var bytes = states[states.count - 1]
            for start in stride(from: 0, to: bytes.count, by: 4096) {
                let state = states.randomElement(using: &random) ?? []
                if start + 4096 <= state.count {
                    bytes.replaceSubrange(start..<(start + 4096), with: state[start..<(start + 4096)])
                }
            }
            try crashed.directory.write(bytes, to: AuditIndex.fileName)
            try crashed.directory.write(
                Array(log.prefix(Int.random(in: 0...log.count, using: &random))), to: AuditIndex.fileName + "-wal")
            let (answers, obstacle) = try crashed.asked(isBrief: true)
            #expect(answers == expected && obstacle == nil, "round \(round)")
        }
        index.close()
    }

    @Test("A foreign database, another version, a directory, a link, a pipe, an empty file or a stray log: rebuilt")
    func foreignFiles() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected()
        let (directory, path) = (fixture.directory, fixture.indexPath)
        func sql(_ text: String) throws {
            let queue = try DatabaseQueue(path: path)
            try queue.write { try $0.execute(sql: text) }
            try queue.close()
        }
        func remove() throws { try FileManager.default.removeItem(atPath: path) }
        func replace(_ make: () -> Int32) throws {
            try remove()
            #expect(make() == 0)
        }
        let states: [(String, () throws -> Void)] = [
            ("tables", { try sql("DROP TABLE word; CREATE TABLE word (text TEXT)") }),
            ("trigger", { try sql("CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END") }),
            (
                "nulls",
                { try sql("PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '')") }
            ),
            ("version", { try sql("PRAGMA user_version = 1") }),
            ("application", { try sql("PRAGMA application_id = 7") }),
            ("rows", { try sql("UPDATE record SET count = 100, place = -5, length = 9223372036854775807") }),
            ("no rows", { try sql("DELETE FROM record WHERE seq % 2 = 0") }),
            ("segments", { try sql("UPDATE segment SET bytes = -9223372036854775808, last_place = -1") }),
            ("words", { try sql("UPDATE word SET text = CAST(x'ff' AS TEXT) || id") }),
            ("empty", { try IndexDamage.overwrite(path, with: []) }),
            ("text", { try IndexDamage.overwrite(path, with: Array("no database".utf8)) }),
            ("directory", { try replace { mkdir(path, 0o700) } }),
            ("link", { try replace { symlink("/nowhere", path) } }),
            ("pipe", { try replace { mkfifo(path, 0o600) } }),
            ("missing", { try remove() }),
            ("unreadable", { chmod(path, 0) }),
            ("open to others", { chmod(path, 0o644) }),
            ("log", { try directory.write(Array(repeating: 7, count: 5000), to: AuditIndex.fileName + "-wal") }),
            ("log directory", { mkdir(path + "-wal", 0o700) }),
            ("shared memory", { mkdir(path + "-shm", 0o700) }),
            ("rollback journal", { try directory.write([1, 2, 3], to: AuditIndex.fileName + "-journal") }),
            ("statement", { try directory.write(Array("notify-gateway".utf8), to: "index.clean") }),
            ("no statement", { try FileManager.default.removeItem(atPath: directory("index.clean")) }),
            ("mark of damage", { try directory.write([], to: "index.damaged") }),
        ]
        for (name, change) in states {
            #expect(try fixture.asked().answers == expected)
            try change()
            let (answers, obstacle) = try fixture.asked()
            #expect(answers == expected && obstacle == nil, "\(name): \(String(describing: obstacle))")
            #expect(CleanShutdownMarker(database: path).isValid, "\(name)")
        }
        // Invalid values with a matching clean shutdown marker.
        for text in [
            "UPDATE record SET count = 100, place = -5, length = 9223372036854775807",
            "UPDATE record SET segment = -1, at = -9223372036854775808",
            "UPDATE segment SET bytes = -9223372036854775808, last_place = -1",
            "UPDATE segment SET bytes = 9223372036854775807, last_place = 9223372036854775806",
            "UPDATE word SET text = CAST(x'ff' AS TEXT) || id",
            "UPDATE record SET call = 'text', user = 'text', count = 1e300",
            "UPDATE record SET count = 9223372036854775807",
        ] {
            #expect(try fixture.asked().answers == expected)
            try sql(text)
            try fixture.vouch()
            _ = try fixture.asked()
            try fixture.directory.write([], to: "index.damaged")
        }
    }

    @Test("Without a usable index the segments give the results, and foreign files are not removed")
    func noIndex() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected()
        mkdir(fixture.indexPath, 0o700)
        try fixture.directory.write([1], to: AuditIndex.fileName + "/kept")
        for _ in 0..<2 {
            let (answers, obstacle) = try fixture.asked()
            #expect(answers == expected)
            #expect(obstacle?.description.contains("index.sqlite") == true)
        }
        #expect(try fixture.directory.bytes(AuditIndex.fileName + "/kept") == [1])
    }

    @Test("A cleanly closed database is kept, and queries do not change it")
    func cleanEnd() async throws {
        let fixture = try await AuditFixture()
        _ = try fixture.asked()
        let end = CleanShutdownMarker(database: fixture.indexPath)
        let (statement, database) = (
            try fixture.directory.bytes("index.clean"), try fixture.directory.bytes(AuditIndex.fileName)
        )
        _ = try fixture.asked()
        #expect(try fixture.directory.bytes("index.clean") == statement)
        #expect(try fixture.directory.bytes(AuditIndex.fileName) == database)
        // The marker is removed before the first change and written when the last user closes the database.
        let file = try fixture.journal.open()
        await file.close()
        let (first, second) = (
            try AuditIndex(directory: fixture.directory.path), try AuditIndex(directory: fixture.directory.path)
        )
        #expect(end.isValid)
        try first.update()
        #expect(!end.exists)
        first.close()
        #expect(!end.exists)
        second.close()
        #expect(end.isValid)
    }

    @Test(
        "A comparison beside a process that has the index open writes nothing; discarding makes that process rebuild it"
    )
    func comparedWhileUsed() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected()
        #expect(AuditTrail.compareIndex(directory: fixture.directory.path) == .absent)
        #expect(!FileManager.default.fileExists(atPath: fixture.indexPath))
        let user = AuditTrail(directory: fixture.directory.path)
        #expect(user.update() == nil)
        let before = try fixture.inventory()
        guard case .agrees(let lines) = AuditTrail.compareIndex(directory: fixture.directory.path) else {
            Issue.record("not compared")
            return
        }
        #expect(lines > 80)
        let index = try #require(user.usableIndex)
        try index.write { try $0.execute(sql: "UPDATE record SET place = place + 1 WHERE seq = 7") }
        for _ in 0..<2 {
            guard case .differs(let what) = AuditTrail.compareIndex(directory: fixture.directory.path) else {
                Issue.record("no difference found")
                return
            }
            #expect(what.contains("line 7"))
        }
        #expect(try fixture.inventory().map(\.name) == before.map(\.name) && !index.isMarkedDamaged)
        let other = AuditTrail(directory: fixture.directory.path)
        #expect(other.discardIndex() == nil)
        #expect(index.isMarkedDamaged)
        #expect(user.update() == nil)
        #expect(try AuditFixture.answers(user) == expected)
        user.close()
        guard case .agrees = AuditTrail.compareIndex(directory: fixture.directory.path) else {
            Issue.record("not made anew")
            return
        }
    }

    @Test("A database that one process finds damaged is removed when the last process closes it")
    func damageAmongSeveral() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected()
        _ = try fixture.asked()
        let other = try AuditIndex(directory: fixture.directory.path)
        let index = try AuditIndex(directory: fixture.directory.path)
        index.markDamaged()
        index.close()
        #expect(other.isMarkedDamaged)
        other.close()
        #expect(!FileManager.default.fileExists(atPath: fixture.indexPath))
        #expect(try fixture.asked().answers == expected)
    }

    @Test("Files of the index that root creates belong to the owner of the journal", .enabled(if: geteuid() == 0))
    func ownership() async throws {
        let fixture = try await AuditFixture()
        #expect(chown(fixture.directory.path, 12_345, 12_346) == 0)
        _ = try fixture.asked(isBrief: true)
        for name in [AuditIndex.fileName, "index.clean", "index.lock"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: fixture.directory(name))
            #expect(attributes[.ownerAccountID] as? Int == 12_345, "\(name)")
        }
        #expect(CleanShutdownMarker(database: fixture.indexPath).isValid)
    }
}
