import GatewayStore
import GatewaySupport
import GatewayTesting
import Testing

@testable import SegmentArchive

@Suite("Verification of an archive", .timeLimit(.minutes(1)))
struct ArchiveVerificationTests {
    /// Archives a journal of some segments, and verifies it after the change.
    private func verify(
        directory: String? = nil, change: (MemoryBucket, [String]) throws -> Void = { _, _ in },
        _ check: (ArchiveVerification.Result, [String]) throws -> Void
    ) async throws {
        let bucket = try await MemoryBucket.start()
        let fixture = try ArchiveFixture()
        try await fixture.record(0..<24)
        await fixture.start(try bucket.settings())
        await fixture.close()
        let keys = bucket.objects.keys.sorted()
        do {
            try change(bucket, keys)
            let verification = JournalVerification(
                directory: directory ?? fixture.directory, keys: [try #require(ArchiveFixture.key).publicKey])
            let result = try await ArchiveVerification(
                try bucket.settings(), directory: directory ?? fixture.directory
            ).run(verification) { _, _ in }
            try check(result, keys.map { String($0.dropFirst("node/".count)) })
        } catch {
            await bucket.stop()
            throw error
        }
        await bucket.stop()
    }

    @Test("An unchanged archive joins the segments that only the directory has")
    func good() async throws {
        try await verify { result, names in
            #expect(result.report.isGood && result.problems == [], "\(result)")
            #expect(names.count >= 4)
            #expect(result.archived == names.count && result.local >= 1)
            #expect(result.report.segments == names.count + result.local)
        }
    }

    @Test("An archive is verified without the journal's directory")
    func elsewhere() async throws {
        let empty = try TestFiles()
        try await verify(directory: empty.path + "/journal") { result, names in
            #expect(result.report.isGood && result.problems == [], "\(result)")
            #expect((result.archived, result.local) == (names.count, 0))
        }
    }

    @Test("A changed object is found by the chain and by the local file")
    func changed() async throws {
        try await verify { bucket, keys in
            let text = String(decoding: bucket.contents[keys[2]] ?? [], as: UTF8.self)
            bucket.objects[keys[2]]?.bytes = Array(
                text.replacing("\"alice\"", with: "\"mallo\"", maxReplacements: 1).utf8)
        } _: { result, names in
            #expect(result.report.finding?.what == "the line was changed")
            #expect(result.problems == ["\(names[2]) in the archive differs from the file of the same name"])
        }
    }

    @Test("A truncated object is found without the local file", arguments: [0, 1, 100, 1000])
    func truncated(length: Int) async throws {
        let empty = try TestFiles()
        try await verify(directory: empty.path + "/journal") { bucket, keys in
            bucket.objects[keys[1]]?.bytes.removeLast((bucket.contents[keys[1]]?.count ?? 0) - length)
        } _: { result, _ in
            #expect(result.report.finding != nil)
        }
    }

    @Test("A missing object is found at each place", arguments: [0, 1, -1])
    func missing(place: Int) async throws {
        try await verify { bucket, keys in
            bucket.objects[keys[place < 0 ? keys.count - 1 : place]] = nil
        } _: { result, names in
            // The directory has its lines.
            #expect(result.report.isGood)
            let name = names[place < 0 ? names.count - 1 : place]
            #expect(result.problems.contains("\(name) is missing in the archive"), "\(result.problems)")
        }
        let empty = try TestFiles()
        guard place >= 0 else { return }
        try await verify(directory: empty.path + "/journal") { bucket, keys in
            bucket.objects[keys[place]] = nil
        } _: { result, _ in
            #expect(result.report.finding != nil)
        }
    }

    @Test("Objects of conflicts are a problem, and other objects are ignored")
    func conflicts() async throws {
        try await verify { bucket, keys in
            bucket.objects["\(keys[0].dropLast(6)).conflict-0123456789abcdef.jsonl"] = .init(bytes: [1])
            bucket.objects["node/journal-notes.txt"] = .init(bytes: [1])
            bucket.objects["node-b/\(keys[0].dropFirst(5))"] = .init(bytes: [1])
        } _: { result, names in
            #expect(result.report.isGood)
            #expect(
                result.problems == [
                    "\(names[0].dropLast(6)).conflict-0123456789abcdef.jsonl was archived beside an object with other content"
                ])
        }
    }
}
