import Foundation
import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayStore

/// Indexes that somebody without the signing key has written. Their digests need no key.
@Suite("Audit: sealed indexes", .timeLimit(.minutes(5)))
struct IndexSealTests {
    private static func seal(_ byte: UInt8) throws -> IndexSeal { try #require(IndexSeal(JournalFixture.key(byte))) }

    private static func senders(_ trail: AuditTrail) throws -> [SenderSummary] {
        try trail.senders(to: #require(UserName(canonical: "bob")), since: WallTime(microseconds: 0))
    }

    /// Returns the index of a closed segment with another sender, with all of its digests.
    private static func forged(_ fixture: AuditFixture, _ name: String, seal: IndexSeal?) throws -> [UInt8] {
        let first = try #require(AuditIndex.first(inFileName: name))
        let header = try #require(
            SegmentIndex.Header(Array(try fixture.directory.bytes(name).prefix(SegmentIndex.headerBytes))))
        let segment = try fixture.directory.bytes(JournalSegmentName(first: first).text)
        var builder = SegmentIndexBuilder(first: first)
        let text = String(decoding: segment, as: UTF8.self).replacing("\"dave\"", with: "\"mallory\"")
        try builder.add(Array(text.utf8), before: header.end)
        // The last line tells which segment an index is of.
        var genuine = SegmentIndexBuilder(first: first)
        try genuine.add(segment, before: header.end)
        let encoded = builder.encoded(before: header.end, size: header.bytes)
        var own = encoded.header
        own.lastLine = header.lastLine
        var bytes = encoded.bytes
        bytes.replaceSubrange(0..<SegmentIndex.headerBytes, with: own.encoded)
        let result = SegmentIndex.Encoded(header: own, bytes: bytes)
        return try seal.map { try #require(result.sealed($0)) } ?? bytes
    }

    @Test("An index with valid digests and no seal, or one of another key, decides nothing and is built again")
    func forgedIndex() async throws {
        let fixture = try await AuditFixture()
        let trail = AuditTrail(directory: fixture.directory.path, seal: try Self.seal(1))
        #expect(trail.update() == nil)
        let expected = try Self.senders(trail)
        trail.close()
        let name = try #require(try fixture.indexNames().first)
        let genuine = try fixture.directory.bytes(name)
        for seal in [nil, try Self.seal(2)] {
            let forged = try Self.forged(fixture, name, seal: seal)
            try fixture.directory.write(forged, to: name)
            // The forgery works where no seal is required.
            if seal == nil {
                let open = AuditTrail(directory: fixture.directory.path)
                open.allowIndexes()
                #expect(try Self.senders(open).contains { $0.sender.text == "mallory" })
                open.close()
            }
            let trail = AuditTrail(directory: fixture.directory.path, seal: try Self.seal(1))
            trail.allowIndexes()
            #expect(try Self.senders(trail) == expected)
            guard case .differs = AuditTrail.compareIndex(directory: fixture.directory.path) else {
                Issue.record("the comparison does not see the forgery")
                continue
            }
            #expect(trail.update() == nil)
            #expect(try fixture.directory.bytes(name) == genuine)
            #expect(try Self.senders(trail) == expected)
            trail.close()
        }
        guard case .agrees = AuditTrail.compareIndex(directory: fixture.directory.path) else {
            Issue.record("a sealed index does not agree with its segment")
            return
        }
    }
}
