import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore

@Suite("The journals of two nodes", .enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(5)))
struct TwoJournalsTests {
    private static let instances = ["00000000000000aa", "00000000000000bb"]

    /// Two journals whose sends alternate, ten each, one minute apart: those of the first have even numbers.
    private struct Journals {
        let rows: JournalRows
        let lines: [[[UInt8]]]

        init(hosts: [String] = ["gw1", "gw2"]) async throws {
            rows = try JournalRows()
            var lines: [[[UInt8]]] = []
            for (node, host) in hosts.enumerated() {
                let journal = JournalFixture()
                let file = try journal.open()
                for number in 0..<10 {
                    journal.hands.nanoseconds.withLock { $0 = Int64(2 * number + node) * 60_000_000_000 }
                    var facts = JournalFixture.facts(2 * number + node, to: "bob")
                    facts.pns = .apns
                    try await file.record([JournalRecord(.intent, facts: facts)])
                    journal.hands.pass(seconds: 90)
                    try await file.record([
                        JournalRecord(.outcome, facts: facts, result: CallResult.accepted.rawValue)
                    ])
                }
                await file.close()
                lines.append(try JournalRows.lines(journal))
                try rows.addNode(instances[node], host: host)
            }
            self.lines = lines
        }

        /// Adds all lines of both journals.
        func addAll() throws {
            for (lines, instance) in zip(lines, instances) { try rows.add(lines, of: instance) }
        }
    }

    private func sends() -> AuditQuery {
        var query = AuditQuery()
        query.action = .send
        return query
    }

    @Test("Lines are in the order of their times, each with its node")
    func order() async throws {
        let journals = try await Journals()
        try journals.addAll()
        let source = try SharedJournals(journals.rows.settings)
        defer { source.close() }
        var found: [(node: String, at: WallTime, number: UInt64)] = []
        _ = try source.forEachLine(AuditQuery(), limit: .max) { line in
            let reader = JournalLineReader(bytes: line.bytes[...])
            found.append((try #require(line.node), try #require(reader.time), try #require(reader.sequence)))
        }
        #expect(found.count == journals.lines.joined().count)
        let sorted = found.sorted { ($0.at, $0.node, $0.number) < ($1.at, $1.node, $1.number) }
        #expect(found.map(\.number) == sorted.map(\.number) && found.map(\.node) == sorted.map(\.node))
        #expect(Set(found.map(\.node)) == ["gw1", "gw2"])
        let bob = try #require(UserName(canonical: "bob"))
        #expect(try source.senders(to: bob, since: WallTime(microseconds: 0)).map(\.count) == [20])
    }

    @Test("Two nodes on one machine have different names")
    func names() async throws {
        let journals = try await Journals(hosts: ["gw", "gw"])
        try journals.addAll()
        let source = try SharedJournals(journals.rows.settings)
        defer { source.close() }
        var names: Set<String> = []
        _ = try source.forEachLine(AuditQuery(), limit: .max) { names.insert($0.node ?? "") }
        #expect(names == ["gw/00000000000000aa", "gw/00000000000000bb"])
    }

    @Test("Pages of any size have each call once, the newest first")
    func pages() async throws {
        let journals = try await Journals()
        try journals.addAll()
        let (history, _) = try journals.rows.history()
        defer { history.close() }
        for limit in [1, 3, 7, 20, 100] {
            var (calls, position): ([String], String?) = ([], nil)
            repeat {
                let page = try #require(
                    try await history.page(sends(), after: position, limit: limit, isOfCalls: true))
                #expect(page.rows.allSatisfy { $0.count == 2 })
                calls += page.rows.compactMap { JournalLineReader(bytes: $0[0].bytes[...]).text("call") }
                position = page.next
            } while position != nil
            #expect(calls == (0..<20).reversed().map(JournalFixture.call), "limit \(limit)")
        }
        let call = try await history.lines(ofCall: JournalFixture.call(5))
        #expect(call.map(\.node) == ["gw2", "gw2"])
        let bob = try #require(UserName(canonical: "bob"))
        #expect(try await history.received(by: bob, since: nil, limit: 100).count == 20)
    }

    @Test("A call whose last line appears after the first page was read is on a later page")
    func lateLine() async throws {
        let journals = try await Journals()
        // The outcome of the second node's last send but nine is not there yet.
        let late = try #require(
            journals.lines[1].firstIndex {
                let line = JournalLineReader(bytes: $0[...])
                return line.text("call") == JournalFixture.call(1) && line.kind == .outcome
            })
        try journals.rows.add(journals.lines[0], of: Self.instances[0])
        try journals.rows.add(Array(journals.lines[1][..<late]), of: Self.instances[1])
        let (history, _) = try journals.rows.history()
        defer { history.close() }
        // The intent of call 1 is before the bound of this page, and its outcome would be after it.
        let first = try #require(try await history.page(sends(), after: nil, limit: 9, isOfCalls: true))
        try journals.rows.add([journals.lines[1][late]], of: Self.instances[1])
        var calls: [String?] = []
        var position = first.next
        while let before = position {
            let page = try #require(try await history.page(sends(), after: before, limit: 1, isOfCalls: true))
            calls += page.rows.map { JournalLineReader(bytes: $0[0].bytes[...]).text("call") }
            position = page.next
        }
        #expect(calls.contains(JournalFixture.call(1)))
    }

    @Test("A position that is not one of the list is rejected")
    func foreignPositions() async throws {
        let journals = try await Journals()
        let (history, _) = try journals.rows.history()
        defer { history.close() }
        let ends = Array(repeating: "00000000000000aa.0.1", count: JournalEnds.maximumEntries + 1)
        for position in [
            "", "17-18", "1.a.0", "1.a'.0.1", "1.a.0.1~", "1.a.0.1~b.0.x", "1.a.0.1~" + ends.joined(separator: "~"),
        ] {
            let page = try await history.page(sends(), after: position, limit: 1, isOfCalls: true)
            #expect((page == nil) == (position != "1.a.0.1~"), "\(position)")
        }
    }

    @Test("Queries fail while the store is away")
    func unreachable() async throws {
        let server = try PostgreSQLServer()
        let settings = PostgreSQLStore.Settings(connection: server.settings, readers: 1)
        let sessions = try SessionRegister(StoredLedger(file: TemporaryDirectory()("l.sqlite")), clocks: .system)
        let history = SharedHistory(settings, sessions: sessions, clocks: .system)
        defer { history.close() }
        // There is no store in this database yet.
        await #expect(throws: HistoryUnavailable.self) {
            try await history.page(sends(), after: nil, limit: 1, isOfCalls: true)
        }
        #expect(throws: LedgerUnavailable.self) { _ = try SharedJournals(settings) }
    }

    @Test("A tail returns each line once, also those that appear out of the order of time")
    func tail() async throws {
        let journals = try await Journals()
        let (rows, lines) = (journals.rows, journals.lines)
        try rows.add(Array(lines[0][..<4]), of: Self.instances[0])
        let source = try SharedJournals(rows.settings)
        defer { source.close() }
        var tail = try source.end()
        #expect(try source.last(2, before: tail).map(\.bytes) == Array(lines[0][2..<4]))
        #expect(try source.next(after: &tail).isEmpty)
        try rows.add(Array(lines[0][4...]), of: Self.instances[0])
        #expect(try source.next(after: &tail).map(\.bytes) == Array(lines[0][4...]))
        #expect(try source.next(after: &tail).isEmpty)
        // The chain begins anew. What was left of the former one comes first.
        try rows.add(Array(lines[0][..<2]), of: Self.instances[0], chain: 1)
        #expect(try source.next(after: &tail).map(\.bytes) == Array(lines[0][..<2]))
        // The lines of a journal that appears are older than the tail.
        try rows.add(lines[1], of: Self.instances[1])
        let now = WallTime(microseconds: 1_795_000_000_000_000)
        #expect(try source.next(after: &tail).isEmpty == (now < Clocks.system.wall()))
        #expect(try source.next(after: &tail).isEmpty)
    }

    @Test("A stream goes on after any of its lines without a gap")
    func resumed() async throws {
        let journals = try await Journals()
        let (rows, lines) = (journals.rows, journals.lines)
        for (lines, instance) in zip(lines, Self.instances) { try rows.add(Array(lines[..<2]), of: instance) }
        let feed = SharedJournalFeed(rows.settings, clocks: .system)
        defer { feed.close() }
        let start = try await feed.end()
        #expect(try await feed.read(from: start).lines.isEmpty)
        for (lines, instance) in zip(lines, Self.instances) { try rows.add(Array(lines[2...]), of: instance) }
        let all = try await feed.read(from: start).lines
        #expect(Set(all.map(\.line.bytes)) == Set(lines.flatMap { $0[2...] }))
        #expect(all.count == lines.joined().count - 4)
        for (index, line) in all.enumerated() {
            let tail = try #require(SharedTail(text: line.position))
            #expect(try await feed.read(from: tail).lines == Array(all[(index + 1)...]))
        }
        #expect(SharedTail(text: "17") == nil && SharedTail(text: "a~") == nil)
    }

    @Test("A tail that is behind returns all lines in parts, or only the newest")
    func behind() async throws {
        let rows = try JournalRows()
        let lines = (0...Int(SharedTail.maximumLines) * 2).map { number in
            Array(#"{"seq":\#(number + 1),"at":"2026-11-26T05:00:00.000000Z","kind":"start","hash":"0"}"#.utf8)
        }
        try rows.add([lines[0]], of: Self.instances[0])
        let feed = SharedJournalFeed(rows.settings, clocks: .system)
        defer { feed.close() }
        let start = try await feed.end()
        try rows.add(Array(lines[1...]), of: Self.instances[0])
        let first = try await feed.read(from: start)
        let second = try await feed.read(from: first.tail)
        #expect((first.lines + second.lines).map(\.line.bytes) == Array(lines[1...]))
        let newest = try await feed.read(from: start, skipsOld: true)
        #expect(newest.lines.map(\.line.bytes) == lines.suffix(Int(SharedTail.maximumLines)))
        #expect(try await feed.read(from: newest.tail).lines.isEmpty)
    }
}
