import GatewayStore
import GatewaySupport
import GatewayTesting
import Testing

@testable import SegmentArchive

@Suite("Archive of finished segments", .timeLimit(.minutes(1)))
struct SegmentUploaderTests {
    /// Runs the body with a bucket and a journal of the calls.
    private func run(
        calls: Range<Int> = 0..<20, keepBytes: Int = 20 << 30,
        _ body: (MemoryBucket, ArchiveFixture) async throws -> Void
    ) async throws {
        let bucket = try await MemoryBucket.start()
        let fixture = try ArchiveFixture(keepBytes: keepBytes)
        try await fixture.record(calls)
        do { try await body(bucket, fixture) } catch {
            await fixture.close()
            await bucket.stop()
            throw error
        }
        await fixture.close()
        await bucket.stop()
        #expect(bucket.problems == [])
    }

    private func cursor(_ fixture: ArchiveFixture) throws -> ArchiveCursor.Content {
        try ArchiveCursor(journal: fixture.directory).load()
    }

    @Test("Each finished segment is archived once, in order, and the one in use is not")
    func order() async throws {
        try await run { bucket, fixture in
            await fixture.start(try bucket.settings())
            let finished = try fixture.finished()
            #expect(finished.count >= 3)
            #expect(bucket.contents == finished)
            #expect(bucket.writes == finished.keys.sorted().map { "PUT /audit/\($0)" })
            try await fixture.record(20..<32)
            await fixture.untilIdle()
            let all = try fixture.finished()
            #expect(bucket.contents == all && all.count > finished.count)
            #expect(bucket.writes.count == all.count)
            let reading = await fixture.archive.reading
            #expect(reading?.segmentsBehind == 0 && reading?.bytesBehind == 0)
            #expect(reading?.uploaded == UInt64(all.count))
            #expect(reading?.failures == 0 && reading?.conflicts == 0 && reading?.lost == 0)
        }
    }

    @Test(
        "A lost or damaged cursor, and one of another place, costs look-ups and no write",
        arguments: ["lost", "damaged"])
    func lostCursor(kind: String) async throws {
        try await run { bucket, fixture in
            let settings = try bucket.settings()
            await fixture.start(settings)
            let (writes, stored) = (bucket.writes, try cursor(fixture))
            await fixture.archive.apply(nil)
            if kind == "lost" {
                try PrivateFiles.remove(ArchiveCursor(journal: fixture.directory).path)
            } else {
                _ = try fixture.files.write("no cursor", to: "journal.archive")
            }
            await fixture.start(settings)
            #expect(bucket.writes == writes)
            #expect(try cursor(fixture) == stored)
        }
    }

    @Test("Another prefix gets all segments")
    func place() async throws {
        try await run { bucket, fixture in
            await fixture.start(try bucket.settings())
            await fixture.start(try bucket.settings(prefix: "b/c"))
            let both = try fixture.finished().merging(fixture.finished(prefix: "b/c")) { first, _ in first }
            #expect(bucket.contents == both)
        }
    }

    @Test("A journal that ends before the cursor is compared with the store from its beginning")
    func restoredJournal() async throws {
        try await run { bucket, fixture in
            let settings = try bucket.settings()
            try ArchiveCursor(journal: fixture.directory).store(.init(place: settings.place, first: 1, next: 1_000_000))
            await fixture.start(settings)
            #expect(bucket.contents == (try fixture.finished()))
            #expect(fixture.messages.current.contains { $0.hasPrefix("Journal ends before the progress") })
        }
    }

    @Test("An object with other content stays, and the segment gets a name that shows the conflict")
    func conflict() async throws {
        try await run { bucket, fixture in
            let finished = try fixture.finished()
            let keys = finished.keys.sorted()
            let sameSize = [UInt8](repeating: 0x78, count: finished[keys[1]]?.count ?? 0)
            bucket.objects = [keys[0]: .init(bytes: [1]), keys[1]: .init(bytes: sameSize)]
            await fixture.start(try bucket.settings())
            #expect(bucket.contents[keys[0]] == [1])
            #expect(bucket.contents[keys[1]] == sameSize)
            for key in keys.prefix(2) {
                let digest = finished[key].flatMap { SHA256.digest($0) }.map(RequestSigner.hex) ?? ""
                let other = "\(key.dropLast(6)).conflict-\(digest.prefix(16)).jsonl"
                #expect(bucket.contents[other] == finished[key])
            }
            #expect(bucket.contents[keys[2]] == finished[keys[2]])
            #expect(await fixture.archive.reading?.conflicts == 2)
            #expect(fixture.messages.current.count { $0.hasPrefix("Archive has another object") } == 2)
        }
    }

    @Test("An object that appears after the look-up is compared too, also by a store without checksums")
    func race() async throws {
        try await run { bucket, fixture in
            let finished = try fixture.finished()
            let keys = finished.keys.sorted()
            bucket.hideObjects()
            bucket.objects = [
                keys[0]: .init(bytes: finished[keys[0]] ?? [], hasChecksum: false), keys[1]: .init(bytes: [1]),
            ]
            await fixture.start(try bucket.settings())
            #expect(bucket.contents[keys[0]] == finished[keys[0]])
            #expect(bucket.contents[keys[1]] == [1])
            #expect(bucket.objects.count == finished.count + 1)
            #expect(await fixture.archive.reading?.conflicts == 1)
        }
    }

    @Test("Failures are logged once and repeated after waits, and a stopped store is named")
    func failures() async throws {
        try await run { bucket, fixture in
            bucket.fail(
                MemoryBucket.error("403 Forbidden", "RequestTimeTooSkewed"),
                MemoryBucket.error("503 Slow Down", "SlowDown", "Retry-After: 7\r\n"),
                ScriptedServer.ok("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"),
                MemoryBucket.error("404 Not Found", "NoSuchBucket"), "not HTTP\r\n\r\n")
            await fixture.start(try bucket.settings())
            #expect(bucket.contents == (try fixture.finished()))
            #expect(fixture.waits.current == [.seconds(1), .seconds(7), .seconds(4), .seconds(8)])
            #expect(await fixture.archive.reading?.failures == 4)
            let failures = fixture.messages.current.filter { $0.hasPrefix("Segment archive failed") }
            #expect(failures.count == 1)
            #expect(failures.first?.contains("the clock of this machine and that of the store differ") == true)
            #expect(fixture.messages.current.contains { $0.hasPrefix("Segment archive recovered") })
        }
    }

    @Test("A wrong secret is rejected by the store, and no message contains it")
    func wrongSecret() async throws {
        try await run { bucket, fixture in
            await fixture.archive.apply(try bucket.settings(secret: Secret("wrong-secret".utf8)))
            await fixture.messages.wait { $0.contains { $0.hasPrefix("Segment archive failed") } }
            #expect(bucket.contents.isEmpty)
            let message = fixture.messages.current.first { $0.hasPrefix("Segment archive failed") } ?? ""
            #expect(message.contains("journal.archive.s3.secret-access-key"))
            #expect(!fixture.messages.current.contains { $0.contains("wrong-secret") })
        }
    }

    @Test("The size limit removes a segment that is not archived, which is logged and counted")
    func sizeLimit() async throws {
        try await run(calls: 0..<8, keepBytes: 100_000) { bucket, fixture in
            let settings = try bucket.settings()
            ArchiveCursor.require(settings, journal: fixture.directory, by: fixture.followers)
            await fixture.start(settings)
            // Archived so far; from here on the store is away.
            await fixture.archive.apply(nil)
            guard case .progress(let before) = try cursor(fixture) else {
                Issue.record("no cursor")
                return
            }
            ArchiveCursor.require(settings, journal: fixture.directory, by: fixture.followers)
            try await fixture.record(8..<200)
            // A removal follows the writes that cause it; none does after this.
            await fixture.journal.close()
            #expect(fixture.messages.current.contains { $0.hasPrefix("Journal segment removed that is not archived") })
            #expect(!fixture.messages.current.contains { $0.contains("that a sink has not confirmed") })
            await fixture.start(settings)
            let first = try fixture.finished().keys.min() ?? ""
            let lost = (UInt64(first.dropLast(6).suffix(20)) ?? 0) - before.next
            #expect(lost > 0)
            #expect(await fixture.archive.reading?.lost == lost)
            #expect(fixture.messages.current.contains { $0.hasPrefix("Journal no longer contains lines") })
            #expect(bucket.contents.keys.contains(first))
        }
    }
}
