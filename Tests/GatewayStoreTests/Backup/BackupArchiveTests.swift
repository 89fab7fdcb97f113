import Foundation
import GatewaySupport
import Testing

@testable import GatewayStore

@Suite("The archive of a backup") struct BackupArchiveTests {
    private static let noon = WallTime(seconds: 1_800_000_000)
    private static let key = [UInt8](repeating: 7, count: 32)
    private static let segment = BackupMember.segment(JournalSegmentName(first: 1))

    /// The members of a small, whole backup.
    private static let members: [(BackupMember, [UInt8])] = [
        (.ledger, Array("the ledger".utf8)), (.ledgerKey, key), (.digestKey, key), (.signingKey, key),
        (.tokenKeys(1), Array("keys: []\n".utf8)), (segment, Array("{}\n".utf8)),
    ]

    private static func manifest() -> BackupManifest {
        var manifest = BackupManifest(program: "0.1.0", created: noon, store: .file, hasWholeJournal: true)
        manifest.ledger = LedgerSchema.version
        return manifest
    }

    /// Collects what a reader passes on.
    private struct Collected: BackupReceiver {
        var found: [(BackupMember, [UInt8])] = []

        mutating func begin(_ member: BackupMember, modified: WallTime) { found.append((member, [])) }
        mutating func receive(_ bytes: ArraySlice<UInt8>) { found[found.count - 1].1 += bytes }
        func end() {}
    }

    private let directory = TemporaryDirectory()

    init() throws { try PrivateFiles.makeDirectory(directory.path) }

    private func archive(
        _ members: [(BackupMember, [UInt8])] = Self.members, _ manifest: BackupManifest = Self.manifest()
    ) throws -> [UInt8] {
        let path = directory("made.tar")
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        defer { close(file) }
        var writer = try BackupWriter(to: file, path, manifest)
        for (member, bytes) in members { try writer.add(member, bytes, modified: Self.noon) }
        try writer.finish()
        return try directory.bytes("made.tar")
    }

    /// Reads an archive; returns nil if it is rejected.
    private func read(_ bytes: [UInt8]) throws -> Collected? {
        try directory.write(bytes, to: "read.tar")
        let file = open(directory("read.tar"), O_RDONLY)
        defer { close(file) }
        var collected = Collected()
        do {
            _ = try BackupReader.read(file, "read.tar", into: &collected)
        } catch is BackupFailure {
            return nil
        }
        return collected
    }

    @Test("What was written is read, and tar lists it")
    func whole() throws {
        let bytes = try archive()
        let found = try #require(try read(bytes)).found
        #expect(found.map(\.0) == Self.members.map(\.0))
        #expect(found.map(\.1) == Self.members.map(\.1))
        let tar = Process()
        let output = Pipe()
        tar.executableURL = URL(filePath: "/usr/bin/env")
        tar.arguments = ["tar", "tf", directory("made.tar")]
        tar.standardOutput = output
        try tar.run()
        let listed = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        tar.waitUntilExit()
        #expect(tar.terminationStatus == 0)
        #expect(
            listed.split(separator: "\n").map(String.init)
                == ["manifest.json"] + Self.members.map(\.0.name) + ["SHA256SUMS"])
    }

    @Test("A member of a file is read in parts, and times are rounded up")
    func large() throws {
        let content = (0..<(BackupWriter.bufferSize * 2 + 100)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try directory.write(content, to: "large")
        let file = open(directory("large"), O_RDONLY)
        defer { close(file) }
        let path = directory("made.tar")
        let output = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        defer { close(output) }
        var writer = try BackupWriter(to: output, path, Self.manifest())
        for (member, bytes) in Self.members {
            if member == .ledger {
                try writer.add(
                    member, contentsOf: file, "large", size: content.count, modified: Self.noon.adding(1))
            } else {
                try writer.add(member, bytes, modified: Self.noon)
            }
        }
        try writer.finish()
        let bytes = try directory.bytes("made.tar")
        #expect(try read(bytes)?.found.first?.1 == content)
        let header = TarHeader(bytes[1024..<1536])
        #expect(header?.modified == Int(Self.noon.seconds) + 1)
    }

    @Test("An archive that was cut off anywhere is rejected, and so are bytes after its end")
    func truncated() throws {
        let bytes = try archive()
        for count in 0..<bytes.count {
            let found = try read(Array(bytes[..<count]))
            #expect(found == nil, "\(count) of \(bytes.count) bytes")
        }
        #expect(try read(bytes + [0]) == nil)
        #expect(try read(bytes + bytes) == nil)
    }

    @Test("An archive with any changed byte is rejected")
    func changed() throws {
        let bytes = try archive()
        for index in bytes.indices {
            for change in [0x01, 0x20, 0xFF] as [UInt8] {
                var changed = bytes
                changed[index] ^= change
                let found = try read(changed)
                #expect(found == nil, "byte \(index) changed by \(change)")
            }
        }
    }

    @Test("An archive that lacks what a gateway needs is rejected", arguments: [0, 1, 2, 3, 5])
    func missing(_ index: Int) throws {
        var members = Self.members
        members.remove(at: index)
        let bytes = try archive(members)
        #expect(try read(bytes) == nil)
        // Token keys are in a backup if an authenticator has some.
        var others = Self.members
        others.remove(at: 4)
        let without = try archive(others)
        #expect(try read(without) != nil)
    }

    @Test("Members that stand twice, out of order or alone are rejected")
    func misplaced() throws {
        let whole = Self.members
        let texts: [(BackupMember, [UInt8])] = [(.texts, [1])]
        let cases: [[(BackupMember, [UInt8])]] = [
            whole + [whole[5]], Array(whole.reversed()), [whole[0]] + whole, whole[..<3] + texts + whole[3...],
        ]
        for members in cases {
            let bytes = try archive(members)
            #expect(try read(bytes) == nil)
        }
    }

    @Test(
        "Only names of a backup are members",
        arguments: [
            "../ledger.sqlite", "/etc/passwd", "./ledger.sqlite", "ledger.sqlite/", "LEDGER.SQLITE", "journal/../x",
            "journal/journal-1.jsonl", "journal/journal-00000000000000000000.jsonl", "token-keys-0", "token-keys-01",
            "token-keys-100", "token-keys-+1", "", "journal",
        ])
    func names(_ name: String) throws {
        #expect(BackupMember(name) == nil)
        // The name in the archive, with the right checksum and digest.
        let whole = try archive()
        let bytes = Array(whole[..<1024]) + TarHeader(name: name, size: 0, modified: 0).bytes + whole[1024...]
        #expect(try read(bytes) == nil)
    }

    @Test("Headers of links, directories, devices and other owners are rejected")
    func kinds() throws {
        let header = TarHeader(name: "ledger.sqlite", size: 10, modified: 5)
        #expect(TarHeader(header.bytes[...]) == header)
        for (offset, value) in [
            (156, "1"), (156, "2"), (156, "3"), (156, "5"), (156, "L"), (100, "0004755"), (108, "0000001"),
        ] {
            var block = header.bytes
            block.replaceSubrange(offset..<(offset + value.utf8.count), with: value.utf8)
            block.replaceSubrange(148..<156, with: "        ".utf8)
            let sum = String(block.reduce(0) { $0 + Int($1) }, radix: 8)
            let checksum = String(repeating: "0", count: 6 - sum.utf8.count) + sum + "\0 "
            block.replaceSubrange(148..<156, with: checksum.utf8)
            #expect(TarHeader(block[...]) == nil, "\(offset) \(value)")
        }
    }

    @Test("Sizes that a member cannot have are rejected before anything is read")
    func sizes() throws {
        for (name, size) in [
            ("ledger.sqlite.key", 31), ("ledger.sqlite.key", 33), ("ledger.sqlite", 0),
            ("journal/journal-00000000000000000001.jsonl", 129 << 20), ("token-keys-1", 2 << 20),
        ] {
            let manifest = try archive([])[..<1024]
            #expect(try read(Array(manifest) + TarHeader(name: name, size: size, modified: 0).bytes) == nil)
        }
    }

    @Test("A newer version is named")
    func versions() throws {
        var manifest = Self.manifest()
        manifest.ledger = LedgerSchema.version + 1
        let bytes = try archive(Self.members, manifest)
        try directory.write(bytes, to: "read.tar")
        let file = open(directory("read.tar"), O_RDONLY)
        defer { close(file) }
        do {
            _ = try BackupReader.verify(file, "read.tar")
            Issue.record("a newer version was accepted")
        } catch let failure as BackupFailure {
            let known = LedgerSchema.version
            #expect(
                failure.description
                    == "read.tar cannot be used: its ledger has version \(known + 1), made by version 0.1.0; this version reads \(known)"
            )
        }
        let parsed = try? BackupManifest(Array(#"{"format":2,"program":"9","x":1}"#.utf8))
        #expect(parsed == nil)
    }
}

@Suite("The end of the journal in a backup") struct JournalEndTests {
    private let directory = TemporaryDirectory()

    init() throws { try PrivateFiles.makeDirectory(directory.path) }

    private func write(_ first: UInt64, _ text: String, at seconds: Int) throws {
        let name = JournalSegmentName(first: first).text
        try directory.write(Array(text.utf8), to: name)
        let time = timespec(tv_sec: seconds, tv_nsec: 0)
        #expect(utimensat(AT_FDCWD, directory(name), [time, time], 0) == 0)
    }

    private func found(since: Int?) throws -> ([UInt64], [Int], Bool) {
        var end = try JournalEnd(of: directory.path, since: since.map { WallTime(seconds: Int64($0)) })
        defer { end.close() }
        return (end.segments.map(\.name.first), end.segments.map(\.size), end.isWhole)
    }

    @Test("The segments from a time on are taken, at least two, and the last one up to its last complete line")
    func selection() throws {
        for (index, first) in [1, 5, 9, 20].enumerated() as EnumeratedSequence<[UInt64]> {
            try write(first, "a\nb\n", at: 100 * (index + 1))
        }
        #expect(try found(since: nil) == ([1, 5, 9, 20], [4, 4, 4, 4], true))
        #expect(try found(since: 250) == ([9, 20], [4, 4], false))
        #expect(try found(since: 1000) == ([9, 20], [4, 4], false))
        #expect(try found(since: 50) == ([1, 5, 9, 20], [4, 4, 4, 4], true))
        #expect(try found(since: 150) == ([5, 9, 20], [4, 4, 4], false))
    }

    @Test(
        "Preallocated line feeds and an incomplete line are left out",
        arguments: [
            ("a\nb\n\n\n\n", 4), ("a\nb", 2), ("a\nb\n", 4), ("a\n" + String(repeating: "\n", count: 200_000), 2),
            ("a\n" + String(repeating: "b", count: 200_000), 2),
        ])
    func ends(_ text: String, _ size: Int) throws {
        try write(1, text, at: 1)
        #expect(try found(since: nil) == ([1], [size], true))
    }

    @Test("A segment without a complete line is left out", arguments: ["", "a", "\n\n"])
    func empty(_ text: String) throws {
        try write(1, "a\n", at: 1)
        try write(2, text, at: 1)
        #expect(try found(since: nil) == ([1], [2], true))
    }
}
