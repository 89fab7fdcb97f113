import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

@Suite("Audit: damaged indexes", .timeLimit(.minutes(10)))
struct DamagedIndexTests {
    private static let rounds = 300

    @Test("Three hundred damaged files: none crashes the process, and each result equals that of the segments")
    func damagedFiles() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected(isBrief: true)
        #expect(try fixture.asked(isBrief: true).answers == expected)
        let names = try fixture.indexNames()
        #expect(names.count > 4)
        var damage = IndexDamage(seed: 1)
        for round in 0..<Self.rounds {
            let name = names[round % names.count]
            let good = try fixture.directory.bytes(name)
            try IndexDamage.overwrite(fixture.directory(name), with: damage.apply(to: good))
            let (answers, obstacle) = try fixture.asked(isBrief: true)
            #expect(answers == expected && obstacle == nil, "round \(round)")
        }
    }

    @Test("Damage after the files were opened: the index is removed, each result is right, and an update repairs it")
    func damagedWhileOpen() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected(isBrief: true)
        var damage = IndexDamage(seed: 2)
        for round in 0..<100 {
            let trail = AuditTrail(directory: fixture.directory.path)
            defer { trail.close() }
            #expect(trail.update() == nil)
            let name = try fixture.indexNames()[round % 4]
            let good = try fixture.directory.bytes(name)
            try IndexDamage.overwrite(fixture.directory(name), with: damage.apply(to: good))
            #expect(try AuditFixture.answers(trail, isBrief: true) == expected, "round \(round)")
            #expect(trail.update() == nil)
            #expect(try AuditFixture.answers(trail, isBrief: true) == expected, "round \(round)")
        }
    }

    @Test("Any change of a file is found by a comparison, which writes nothing")
    func comparison() async throws {
        let fixture = try await AuditFixture()
        #expect(AuditTrail.compareIndex(directory: fixture.directory.path) == .absent)
        _ = try fixture.asked(isBrief: true)
        guard case .agrees(let lines) = AuditTrail.compareIndex(directory: fixture.directory.path) else {
            Issue.record("not compared")
            return
        }
        #expect(lines > 70)
        let name = try fixture.indexNames()[2]
        let good = try fixture.directory.bytes(name)
        var damage = IndexDamage(seed: 3)
        for round in 0..<50 {
            let damaged = damage.apply(to: good)
            try IndexDamage.overwrite(fixture.directory(name), with: damaged)
            let before = try fixture.inventory()
            let comparison = AuditTrail.compareIndex(directory: fixture.directory.path)
            #expect(try fixture.inventory() == before, "round \(round)")
            if damaged == good { continue }
            guard case .differs(let what) = comparison else {
                Issue.record("round \(round): \(comparison)")
                continue
            }
            #expect(what.contains(name))
        }
    }

    @Test("A forged index with valid digests does not crash a query, and a comparison finds it")
    func forged() async throws {
        let fixture = try await AuditFixture()
        _ = try fixture.asked(isBrief: true)
        let name = try fixture.indexNames()[1]
        let good = try fixture.directory.bytes(name)
        let header = try #require(SegmentIndex.Header(Array(good.prefix(SegmentIndex.headerBytes))))
        let sections = SegmentIndex.headerBytes..<(SegmentIndex.headerBytes + header.sectionBytes)
        var random = SplitMix(seed: 4)
        for _ in 0..<Self.rounds {
            var bytes = good
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let start = Int.random(in: sections, using: &random)
                for place in start..<min(start + 4, sections.upperBound) {
                    bytes[place] = UInt8.random(in: 0...255, using: &random)
                }
            }
            var writer = SegmentIndexWriter(header)
            writer.append(bytes[sections])
            try fixture.directory.write(writer.finish().bytes, to: name)
            if bytes != good, case .agrees = AuditTrail.compareIndex(directory: fixture.directory.path) {
                Issue.record("not found")
            }
            let trail = AuditTrail(directory: fixture.directory.path)
            defer { trail.close() }
            #expect(trail.update() == nil)
            _ = try AuditFixture.answers(trail, isBrief: true)
            try? fixture.directory.write(good, to: name)
        }
    }

    @Test("A file of another kind in the place of an index is replaced; a directory with content is left, and reported")
    func foreignFiles() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected()
        _ = try fixture.asked()
        let path = fixture.directory(try fixture.indexNames()[1])
        func replace(_ make: () -> Int32) throws {
            try FileManager.default.removeItem(atPath: path)
            #expect(make() == 0)
        }
        let states: [(String, () throws -> Void)] = [
            ("empty", { try IndexDamage.overwrite(path, with: []) }),
            ("text", { try IndexDamage.overwrite(path, with: Array("no index".utf8)) }),
            (
                "index of another segment",
                {
                    let other = try fixture.directory.bytes(try fixture.indexNames()[2])
                    try IndexDamage.overwrite(path, with: other)
                }
            ),
            ("link", { try replace { symlink("/nowhere", path) } }),
            ("pipe", { try replace { mkfifo(path, 0o600) } }),
            ("missing", { try FileManager.default.removeItem(atPath: path) }),
            ("unreadable", { chmod(path, 0) }),
        ]
        for (name, change) in states {
            try change()
            let (answers, obstacle) = try fixture.asked()
            #expect(answers == expected && obstacle == nil, "\(name): \(String(describing: obstacle))")
            guard case .agrees = AuditTrail.compareIndex(directory: fixture.directory.path) else {
                Issue.record("\(name): not built again")
                continue
            }
        }
        try replace { mkdir(path, 0o700) }
        try Data().write(to: URL(filePath: path + "/kept"))
        let (answers, obstacle) = try fixture.asked()
        #expect(answers == expected)
        #expect(obstacle?.description.contains("index-") == true)
        #expect(FileManager.default.fileExists(atPath: path + "/kept"))
    }

    @Test("Files of removed segments, drafts of ended processes and the former database are removed")
    func stale() async throws {
        let fixture = try await AuditFixture()
        _ = try fixture.asked(isBrief: true)
        let kept = try fixture.indexNames()
        let gone = AuditIndex.fileName(first: 999_999)
        let ended = kept[0] + ".7f"
        let running = kept[0] + ".80"
        for name in [gone, ended, running, "index.sqlite", "index.sqlite-wal", "index.lock", "index.other"] {
            try fixture.directory.write([1], to: name)
        }
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -7200)], ofItemAtPath: fixture.directory(ended))
        _ = try fixture.asked(isBrief: true)
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory.path)
            .filter { $0.hasPrefix("index") }.sorted()
        #expect(names == (kept + [running, "index.other"]).sorted())
    }

    @Test("Discarding removes the indexes; a process that uses them builds them again")
    func discarding() async throws {
        let fixture = try await AuditFixture()
        let expected = try fixture.expected(isBrief: true)
        let user = AuditTrail(directory: fixture.directory.path)
        defer { user.close() }
        #expect(user.update() == nil)
        let names = try fixture.indexNames()
        let other = AuditTrail(directory: fixture.directory.path)
        #expect(other.discardIndex() == nil)
        #expect(try fixture.indexNames().isEmpty)
        #expect(try AuditFixture.answers(user, isBrief: true) == expected)
        #expect(user.update() == nil)
        #expect(try fixture.indexNames() == names)
        #expect(try AuditFixture.answers(user, isBrief: true) == expected)
    }

    @Test("Files of the index that root creates belong to the owner of the journal", .enabled(if: geteuid() == 0))
    func ownership() async throws {
        let fixture = try await AuditFixture()
        #expect(chown(fixture.directory.path, 12_345, 12_346) == 0)
        _ = try fixture.asked(isBrief: true)
        for name in try fixture.indexNames() {
            let attributes = try FileManager.default.attributesOfItem(atPath: fixture.directory(name))
            #expect(attributes[.ownerAccountID] as? Int == 12_345, "\(name)")
            #expect(try fixture.directory.mode(name) & 0o077 == 0)
        }
    }
}
