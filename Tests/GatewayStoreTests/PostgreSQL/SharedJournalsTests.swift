import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

@Suite("Queries on the journals of all nodes", .enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(5)))
struct SharedJournalsTests {
    private static let node = "00000000000000aa"

    /// Returns a query with random conditions, most of which have results in an ``AuditFixture``.
    private func query(_ random: inout SplitMix) throws -> AuditQuery {
        var query = AuditQuery()
        func sometimes<Value>(_ values: [Value?], oneIn count: Int) -> Value? {
            Int.random(in: 0..<count, using: &random) == 0 ? values.randomElement(using: &random) ?? nil : nil
        }
        func user(_ names: [String], oneIn count: Int) -> UserName? {
            sometimes(names, oneIn: count).flatMap { UserName(canonical: $0) }
        }
        func time() -> WallTime? {
            sometimes((0..<400).map { WallTime(microseconds: 1_795_000_000_000_000 + $0 * 60_000_000) }, oneIn: 5)
        }
        query.from = user(["alice", "dave", "bob"], oneIn: 5)
        query.to = user(["bob", "carol", "alice"], oneIn: 4)
        query.user = user(["alice", "dave", "nobody"], oneIn: 6)
        query.action = sometimes([.send, .whoami], oneIn: 6)
        query.kind = sometimes([.intent, .outcome, .rejection, .checkpoint, .start], oneIn: 5)
        query.result = sometimes(
            ["accepted", "backend-unreachable", "rate-limited", AuditQuery.wouldReject, AuditQuery.wouldLimit], oneIn: 4
        )
        query.rule = sometimes(["send[0]", "would-refuse", "send[1]"], oneIn: 8)
        query.peer = sometimes(["192.0.2.1", "192.0.2.2"], oneIn: 8)
        query.limit = sometimes(["inbox", "sends", "none"], oneIn: 8)
        query.service = sometimes([.apns, .fcm], oneIn: 8)
        query.since = time()
        query.until = time()
        query.call = sometimes([JournalFixture.call(7), JournalFixture.call(390), "none"], oneIn: 10)
        query.hidesChainRecords = Bool.random(using: &random)
        return query
    }

    @Test("The tables of one node give the results of its journal")
    func sameAsJournal() async throws {
        let fixture = try await AuditFixture(sends: 400)
        let rows = try JournalRows()
        try rows.addNode(Self.node, host: "gw1")
        try rows.add(JournalRows.lines(fixture.journal), of: Self.node)
        let trail = AuditTrail(directory: fixture.directory.path)
        #expect(trail.update() == nil)
        let journals = try SharedJournals(rows.settings)
        let (history, sessions) = try rows.history()
        let own = RecordedHistory(
            AuditTrail(directory: fixture.directory.path), sessions: sessions,
            logger: fixture.journal.configuration.logger)
        defer {
            trail.close()
            journals.close()
            history.close()
            own.close()
        }
        var random = SplitMix(seed: 7)
        var total = 0
        for round in 0..<150 {
            let query = try query(&random)
            let limit = [1, 5, 130, 1000, .max].randomElement(using: &random) ?? 1
            func lines(_ source: some AuditSource) throws -> ([[UInt8]], Bool) {
                var found: [[UInt8]] = []
                let isMore = try source.forEachLine(query, limit: limit) { found.append($0.bytes) }
                return (found, isMore)
            }
            func calls(_ source: some AuditSource) throws -> ([[[UInt8]]], Bool) {
                var found: [[[UInt8]]] = []
                let isMore = try source.forEachCall(query, limit: min(limit, 200)) { found.append($0.map(\.bytes)) }
                return (found, isMore)
            }
            let (expected, found) = (try lines(trail), try lines(journals))
            total += expected.0.count
            #expect(expected == found, "round \(round): \(query)")
            #expect(try calls(trail) == calls(journals), "round \(round): \(query)")
            let (isOfCalls, length) = (Bool.random(using: &random), Int.random(in: 1...150, using: &random))
            let pages = try await pages(history, query, limit: length, isOfCalls: isOfCalls)
            #expect(
                try await self.pages(own, query, limit: length, isOfCalls: isOfCalls) == pages,
                "round \(round): \(query)")
        }
        #expect(total > 5000)
        for name in ["bob", "carol", "alice", "nobody"] {
            let user = try #require(UserName(canonical: name))
            for minutes in [0, 5, 200, 1000] {
                let since = WallTime(microseconds: 1_795_000_000_000_000 + Int64(minutes) * 60_000_000)
                #expect(try trail.senders(to: user, since: since) == journals.senders(to: user, since: since))
                for limit in [0, 1, 7, 1000] {
                    #expect(
                        try await own.received(by: user, since: since, limit: limit)
                            == history.received(by: user, since: since, limit: limit))
                }
            }
        }
    }

    /// Returns the rows of all pages.
    private func pages(
        _ history: some CallHistory, _ query: AuditQuery, limit: Int, isOfCalls: Bool
    ) async throws -> [[[[UInt8]]]] {
        var pages: [[[[UInt8]]]] = []
        var position: String?
        while true {
            let page = try #require(
                try await history.page(query, after: position, limit: limit, isOfCalls: isOfCalls))
            pages.append(page.rows.map { $0.map(\.bytes) })
            guard let next = page.next else { return pages }
            #expect(next != position)
            position = next
        }
    }
}
