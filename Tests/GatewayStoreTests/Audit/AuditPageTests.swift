import Foundation
import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("Pages of the journal", .timeLimit(.minutes(5)))
struct AuditPageTests {
    /// Reads all pages, each of at most `limit` rows.
    private func pages(
        _ trail: AuditTrail, _ query: AuditQuery, limit: Int, isOfCalls: Bool, mostExamined: Int = .max
    ) throws -> [[[[UInt8]]]] {
        var pages: [[[[UInt8]]]] = []
        var query = query
        while true {
            let page = try trail.page(query, limit: limit, isOfCalls: isOfCalls, mostExamined: mostExamined)
            #expect(page.rows.count <= limit)
            pages.append(page.rows)
            guard let next = page.next else { return pages }
            // Each page ends before the one that was returned earlier, so the pages end.
            #expect(next < query.before ?? .max)
            query.before = next
        }
    }

    private func queries() throws -> [AuditQuery] {
        var (sends, rejections, toBob, shadow) = (AuditQuery(), AuditQuery(), AuditQuery(), AuditQuery())
        sends.action = .send
        rejections.kind = .rejection
        toBob.to = try #require(UserName(canonical: "bob"))
        toBob.service = .apns
        shadow.result = AuditQuery.wouldLimit
        return [AuditQuery(), sends, rejections, toBob, shadow]
    }

    @Test("Pages of any size have the same rows in the same order, with and without an index")
    func sizes() async throws {
        let fixture = try await AuditFixture()
        let (plain, indexed) = (
            AuditTrail(directory: fixture.directory.path), AuditTrail(directory: fixture.directory.path)
        )
        #expect(indexed.update() == nil)
        defer { indexed.close() }
        for query in try queries() {
            for isOfCalls in [true, false] {
                let whole = try plain.page(query, limit: 1000, isOfCalls: isOfCalls, mostExamined: .max)
                #expect(whole.next == nil && !whole.rows.isEmpty)
                for trail in [plain, indexed] {
                    for limit in [1, 7, 1000] {
                        let pages = try pages(trail, query, limit: limit, isOfCalls: isOfCalls)
                        #expect(pages.flatMap(\.self) == whole.rows)
                    }
                    let short = try pages(trail, query, limit: 1000, isOfCalls: isOfCalls, mostExamined: 2)
                    #expect(short.flatMap(\.self) == whole.rows)
                }
            }
        }
    }

    @Test("A call whose records lie on both sides of the end of a page is one row")
    func interleaved() async throws {
        let journal = JournalFixture()
        let file = try journal.open()
        let facts = (0..<6).map { JournalFixture.facts($0, to: "bob") }
        for fact in facts { try await file.record([JournalRecord(.intent, facts: fact)]) }
        for fact in facts {
            try await file.record([JournalRecord(.outcome, facts: fact, result: CallResult.accepted.rawValue)])
        }
        await file.close()
        let trail = AuditTrail(directory: journal.directory.path)
        var query = AuditQuery()
        query.action = .send
        for limit in 1...7 {
            let rows = try pages(trail, query, limit: limit, isOfCalls: true).flatMap(\.self)
            #expect(rows.map(\.count) == Array(repeating: 2, count: 6), "limit \(limit)")
            #expect(Set(rows.map { JournalLineReader(bytes: $0[0][...]).text("call") }).count == 6)
        }
    }

    @Test("A tail that starts after a line returns the lines after it in blocks, across segments")
    func tail() async throws {
        let fixture = try await AuditFixture()
        var all: [[UInt8]] = []
        try AuditTrail(directory: fixture.directory.path).lines(AuditQuery()) { all.append($0) }
        for start in [0, 1, 17, all.count - 1, all.count, all.count + 5] {
            var tail = try JournalTail(directory: fixture.directory.path, after: UInt64(start))
            var found: [[UInt8]] = []
            while true {
                let block = try tail.nextBlock()
                if block.isEmpty { break }
                found += block
            }
            #expect(found == Array(all.dropFirst(start)), "after \(start)")
        }
        var end = JournalTail(directory: fixture.directory.path)
        _ = try end.last(0)
        #expect(try end.nextBlock().isEmpty)
        var beyond = try JournalTail(directory: fixture.directory.path, after: .max)
        #expect(try beyond.nextBlock().isEmpty)
        #expect(throws: AuditIndex.Failure.self) {
            try JournalTail(directory: fixture.directory("missing"), after: 1)
        }
    }
}
