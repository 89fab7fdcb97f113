import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Glibc
import Testing

@testable import GatewayStore

/// The directory of a journal, and changes of it by somebody who can write there and does not have the signing key.
struct ForgedDirectory {
    let directory = TemporaryDirectory()
    var random: SplitMix
    /// The names of segments and indexes before any change, in ascending order.
    private let names: [String]
    private let origin: JournalOrigin

    /// Copies a journal into a directory of its own.
    init(_ origin: JournalOrigin, seed: UInt64) throws {
        self.origin = origin
        random = SplitMix(seed: seed)
        names = origin.files.keys.sorted()
        try PrivateFiles.makeDirectory(directory.path)
        for (name, bytes) in origin.files { try write(bytes, name) }
    }

    /// Makes one to three changes. Returns what they were.
    mutating func change() throws -> [String] {
        try (0..<Int.random(in: 1...3, using: &random)).map { _ in try changeOnce() }
    }

    private var segments: [String] { names.filter { $0.hasPrefix("journal-") } }

    private mutating func changeOnce() throws -> String {
        let candidates = Int.random(in: 0..<5, using: &random) == 0 ? names : segments
        guard let name = candidates.randomElement(using: &random) else { return "nothing" }
        let present = read(name)
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            let planted = plantedName()
            try plant(planted)
            return "planted \(planted)"
        case 1:
            let length = Int.random(in: 0...present.count, using: &random)
            try write(Array(present[..<length]), name)
            return "cut \(name) to \(length)"
        case 2:
            try write(present + rubbish(), name)
            return "grown \(name)"
        case 3:
            let size = sparseSize()
            truncate(directory(name), size)
            return "sparse \(name): \(size)"
        case 4:
            let other = plantedName()
            rename(directory(name), directory(other))
            return "renamed \(name) to \(other)"
        case 5:
            let other = plantedName()
            try write(present, other)
            return "repeated \(name) as \(other)"
        case 6:
            guard let other = segments.randomElement(using: &random) else { return "nothing" }
            let bytes = read(other)
            try write(bytes, name)
            try write(present, other)
            return "exchanged \(name) and \(other)"
        case 7:
            unlink(directory(name))
            return "deleted \(name)"
        case 8:
            let index = name.hasPrefix("index-") ? name : "index-\(name.dropFirst(8).prefix(20)).bin"
            try forgeIndex(index)
            return "forged \(index)"
        case 9:
            try changeLines(name) { lines, random in
                let place = Int.random(in: lines.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: lines.insert(lines[place], at: Int.random(in: 0...lines.count, using: &random))
                case 1: lines.swapAt(place, Int.random(in: lines.indices, using: &random))
                default: lines.remove(at: place)
                }
            }
            return "lines of \(name) repeated, reordered or removed"
        default:
            let isToEnd = Bool.random(using: &random)
            let number =
                ["", "0", "1", "+5", "007", "9223372036854775806", "18446744073709551615"]
                .randomElement(using: &random) ?? ""
            try changeLines(name) { lines, random in
                let place = Int.random(in: lines.indices, using: &random)
                for index in place..<(isToEnd ? lines.count : place + 1) {
                    let previous = index > 0 ? ForgedLine.hash(of: lines[index - 1]) : Self.zero
                    let own = JournalLineReader(bytes: lines[index][...]).sequence.map { "\($0)" } ?? "1"
                    let forged = try? ForgedLine.hashed(
                        index == place ? ForgedLine.altered(lines[index]) : lines[index],
                        number: index == place && !number.isEmpty ? number : own, previous: previous)
                    lines[index] = forged ?? lines[index]
                }
            }
            return "forged \(number) in \(name), to the end: \(isToEnd)"
        }
    }

    /// Returns a length with a hole: mostly a short one, which is read, and otherwise more than any segment has.
    private mutating func sparseSize() -> off_t {
        off_t(1) << (Int.random(in: 0..<8, using: &random) > 0 ? 17 : Int.random(in: 28...42, using: &random))
    }

    private static let zero = [UInt8](repeating: UInt8(ascii: "0"), count: 64)

    private mutating func changeLines(_ name: String, _ body: (inout [[UInt8]], inout SplitMix) -> Void) throws {
        var lines = read(name).split(separator: 0x0A).map { Array($0) }
        guard !lines.isEmpty else { return }
        body(&lines, &random)
        try write(lines.flatMap { $0 + [0x0A] }, name)
    }

    /// Returns a name like that of a segment: of another one, just beside, at a limit, or malformed.
    private mutating func plantedName() -> String {
        let firsts = origin.segments.map(\.first)
        let near = (firsts.randomElement(using: &random) ?? 1) + UInt64.random(in: 0...3, using: &random)
        let top = UInt64(1) << 63
        let numbers: [UInt64] = [
            near, max(near, 3) - 2, origin.next, origin.next + 7, 0, 1, top / 2, top - 3, top - 2,
            top - 1,
            top, .max,
        ]
        let number = numbers.randomElement(using: &random) ?? 0
        let digits = JournalSegmentName.digits(of: number)
        return [
            "journal-\(digits).jsonl", "journal-\(digits).jsonl", "journal-\(digits).jsonl", "journal-\(digits).jsonl",
            "journal-+\(digits.dropFirst()).jsonl", "journal-\(digits.dropFirst()).jsonl",
            "journal-\(digits).jsonl.bak",
        ].randomElement(using: &random) ?? ""
    }

    /// Writes a file of forged lines, which continue the line before them if there is one.
    private mutating func plant(_ name: String) throws {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: try write(rubbish(), name)
        case 1:
            try write([], name)
            truncate(directory(name), sparseSize())
        case 2 where random.next() % 4 == 0:
            mkdir(directory(name), 0o700)
        case 2 where random.next() % 4 == 0:
            symlink("/dev/zero", directory(name))
        default:
            var number = JournalSegmentName(name)?.first ?? origin.next
            if Int.random(in: 0..<8, using: &random) == 0 { number = 0 }
            var previous =
                origin.lines.last { JournalLineReader(bytes: $0[...]).sequence ?? 0 < number }
                .map { ForgedLine.hash(of: $0) } ?? Self.zero
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                guard let line = origin.lines.randomElement(using: &random) else { continue }
                let forged = try ForgedLine.hashed(ForgedLine.altered(line), number: "\(number)", previous: previous)
                previous = ForgedLine.hash(of: forged)
                bytes += forged + [0x0A]
                number &+= 1
            }
            if Bool.random(using: &random) { bytes += Self.lossOfEverything(number, previous) + [0x0A] }
            try write(bytes, name)
        }
    }

    /// A record of lost lines up to the end of all numbers.
    private static func lossOfEverything(_ number: UInt64, _ previous: [UInt8]) -> [UInt8] {
        let line =
            #"{"seq":1,"at":"2026-11-21T07:00:00.000000Z","kind":"recovered","result":"lines-missing","first":1"#
            + #","through":18446744073709551615,"prev":"","hash":""}"#
        return (try? ForgedLine.hashed(Array(line.utf8), number: "\(number)", previous: previous)) ?? []
    }

    private mutating func rubbish() -> [UInt8] {
        let count = Int.random(in: 1...600, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: return [UInt8](repeating: 0, count: count)
        case 1: return [UInt8](repeating: 0x0A, count: count)
        case 2: return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
        default: return origin.lines.randomElement(using: &random).map { ForgedLine.altered($0) + [0x0A] } ?? []
        }
    }

    /// Changes numbers in an index, or writes one of a forged segment, with all of its digests.
    private mutating func forgeIndex(_ name: String) throws {
        guard let first = AuditIndex.first(inFileName: name) else { return }
        let segment = JournalSegmentName(first: first).text
        var bytes = read(name)
        guard !bytes.isEmpty, Bool.random(using: &random) else {
            var lines = read(segment).split(separator: 0x0A).map { Array($0) }
            guard !lines.isEmpty else { return }
            lines = lines.map { ForgedLine.altered($0) }
            var builder = SegmentIndexBuilder(first: first)
            try? builder.add(lines.flatMap { $0 + [0x0A] }, before: nil)
            let end = origin.segments.first { $0.first > first }?.first ?? origin.next
            let size = UInt64(read(segment).count)
            return try write(builder.encoded(before: end, size: size).bytes, name)
        }
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 8..<max(9, bytes.count), using: &random)
            let value =
                [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? UInt8.random(in: 0...255, using: &random)
            for offset in place..<min(bytes.count, place + Int.random(in: 1...8, using: &random)) {
                bytes[offset] = value
            }
        }
        try write(Self.resealed(bytes), name)
    }

    /// Returns the index with the digests of its content, which need no key.
    private static func resealed(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count > SegmentIndex.headerBytes + SegmentIndex.Header.digestBytes else { return bytes }
        var bytes = bytes
        let body = SegmentIndex.headerBytes - SegmentIndex.Header.digestBytes
        bytes.replaceSubrange(body..<SegmentIndex.headerBytes, with: SegmentIndex.Header.digest(bytes[..<body]))
        guard let header = SegmentIndex.Header(Array(bytes[..<SegmentIndex.headerBytes])), header.isPlausible,
            header.sectionBytes < 1 << 20
        else { return bytes }
        let end = SegmentIndex.headerBytes + header.sectionBytes
        var result = Array(bytes.prefix(end))
        result += [UInt8](repeating: 0, count: end - result.count)
        var digests: [UInt8] = []
        for start in stride(from: SegmentIndex.headerBytes, to: end, by: SegmentIndex.pageBytes) {
            digests += SegmentIndex.digest(result[start..<min(end, start + SegmentIndex.pageBytes)])
        }
        return result + digests + SegmentIndex.Header.digest(digests[...])
    }

    /// Returns the beginning of a file; empty if there is none that can be read.
    private func read(_ name: String) -> [UInt8] {
        guard let reader = try? SegmentReader(directory(name)) else { return [] }
        defer { reader.close() }
        return (try? reader.read(from: 0, count: 1 << 20)) ?? []
    }

    private func write(_ bytes: [UInt8], _ name: String) throws {
        var status = stat()
        // Not through a symbolic link or into a directory.
        if lstat(directory(name), &status) == 0, status.st_mode & S_IFMT != S_IFREG { return }
        try directory.write(bytes, to: name)
        chmod(directory(name), 0o600)
    }
}

/// A genuine journal, its indexes, and what its writer wrote.
struct JournalOrigin: Sendable {
    let files: [String: [UInt8]]
    /// The lines that count, in order.
    let lines: [[UInt8]]
    /// The checkpoint that the ledger has.
    let known: StoredCheckpoint?

    /// Copies a closed journal.
    init(_ fixture: JournalFixture, known: StoredCheckpoint?) throws {
        let trail = AuditTrail(directory: fixture.directory.path)
        #expect(trail.update() == nil)
        var lines: [[UInt8]] = []
        try trail.lines(AuditQuery()) { lines.append($0) }
        trail.close()
        self.lines = lines
        self.known = known
        var files: [String: [UInt8]] = [:]
        for name in try fixture.directory.names() where name != "lock" {
            files[name] = try fixture.directory.bytes(name)
        }
        self.files = files
    }

    var segments: [JournalSegmentName] { JournalSegmentName.segments(among: Array(files.keys)) }

    /// The number after the last line.
    var next: UInt64 { (lines.last.flatMap { JournalLineReader(bytes: $0[...]).sequence } ?? 0) + 1 }

    /// The lines up to the ledger's checkpoint, which nobody without the key can change unnoticed.
    var protected: [[UInt8]] {
        lines.filter { JournalLineReader(bytes: $0[...]).sequence ?? 0 <= known?.number ?? 0 }
    }
}
