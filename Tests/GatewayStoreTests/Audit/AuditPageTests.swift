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
            (query.before, query.top) = (next, page.top)
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

    @Test("A call that ends between two pages is on the second one")
    func endedBetweenPages() async throws {
        let journal = JournalFixture()
        let file = try journal.open()
        let facts = (0..<3).map { JournalFixture.facts($0, to: "bob") }
        for fact in facts { try await file.record([JournalRecord(.intent, facts: fact)]) }
        var query = AuditQuery()
        query.action = .send
        let trail = AuditTrail(directory: journal.directory.path)
        func page() throws -> AuditPage { try trail.page(query, limit: 1, isOfCalls: true, mostExamined: 1000) }
        let first = try page()
        try await file.record([
            JournalRecord(.outcome, facts: facts[0], result: CallResult.accepted.rawValue),
            JournalRecord(.outcome, facts: facts[2], result: CallResult.accepted.rawValue),
        ])
        await file.close()
        (query.before, query.top) = (first.next, first.top)
        var calls = [first.rows]
        while query.before != nil {
            let next = try page()
            calls.append(next.rows)
            query.before = next.next
        }
        let ids = calls.flatMap(\.self).map { JournalLineReader(bytes: $0[0][...]).text("call") }
        #expect(ids == facts.reversed().map { $0.call.text })
    }

    @Test("A page ends when the lines of its calls are many, and has one call at least")
    func manyLines() async throws {
        let journal = JournalFixture()
        let file = try journal.open()
        for number in 0..<4 {
            let fact = JournalFixture.facts(number, to: "bob")
            try await file.record((0..<20).map { _ in JournalRecord(.intent, facts: fact) })
        }
        await file.close()
        var query = AuditQuery()
        query.action = .send
        let trail = AuditTrail(directory: journal.directory.path)
        var rows: [Int] = []
        var pages = 0
        repeat {
            let page = try trail.page(query, limit: 10, isOfCalls: true, mostExamined: 45)
            rows += page.rows.map(\.count)
            (query.before, query.top) = (page.next, page.top)
            pages += 1
        } while query.before != nil && pages < 10
        #expect(rows == [20, 20, 20, 20] && pages >= 2)
    }
}
