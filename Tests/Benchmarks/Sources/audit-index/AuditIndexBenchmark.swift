import ArgumentParser
import Foundation
import GatewayCore
import GatewayStore
import GatewaySupport
import Glibc
import Logging

/// Measures the journal's index: the processor time to build it, its size, and the time of queries.
@main
struct AuditIndexBenchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit-index", abstract: "Measure the journal's index: build time, size and queries.",
        discussion: "Example: swift run --configuration release audit-index --calls 10000000 --directory /var/tmp")

    @Option(help: "The number of sends in the journal. A million need about 1.1 GB.")
    var calls = 1_000_000

    @Option(help: "The number of users; each send has a random sender and recipient.")
    var users = 10_000

    @Option(help: "The number of queries of each kind.")
    var queries = 200

    @Option(help: "The directory of the journal. An existing journal there is measured as it is, and kept.")
    var directory: String

    func validate() throws {
        guard calls > 0, users > 0, queries > 0 else { throw ValidationError("all numbers must be positive") }
    }

    func run() async throws {
        let journal = directory + "/journal"
        if !FileManager.default.fileExists(atPath: journal) {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try await write(to: journal)
        }
        try removeIndex(journal)
        let before = Self.processorTime
        let began = ContinuousClock.now
        let index = AuditIndex(directory: journal)
        try index.update()
        let (elapsed, used) = (ContinuousClock.now - began, Self.processorTime - before)
        index.close()
        let (lines, journalBytes, indexBytes) = try sizes(journal)
        print(
            """
            \(lines) lines, journal \(journalBytes >> 20) MiB, index \(indexBytes >> 20) MiB \
            (\(Self.text(100 * Double(indexBytes) / Double(journalBytes))) %)
            built in \(elapsed), processor time \(used): \(Self.text(used / .microseconds(1) / Double(lines))) µs a line
            """)
        try await measureQueries(journal)
    }

    private func measureQueries(_ journal: String) async throws {
        let trail = AuditTrail(directory: journal)
        defer { trail.close() }
        let opened = ContinuousClock().measure { trail.update() }
        print("a new process opens the index of all segments in \(opened)")
        func measure(_ name: String, _ query: (UserName) async throws -> Int) async throws {
            var times: [Duration] = []
            var rows = 0
            for _ in 0..<queries {
                let user = Self.user(Int.random(in: 0..<users))
                let began = ContinuousClock.now
                rows += try await query(user)
                times.append(.now - began)
            }
            times.sort()
            print("\(name): p50 \(times[queries / 2]), p99 \(times[queries * 99 / 100]), \(rows / queries) rows each")
        }
        try await measure("who notified a user, ever") { user in
            try trail.senders(to: user, since: WallTime(microseconds: 0)).count
        }
        try await measure("the newest 100 sends of a user") { user in
            var query = AuditQuery()
            query.from = user
            var found = 0
            try trail.calls(query, limit: 100) { _ in found += 1 }
            return found
        }
        let ledger = try StoredLedger(file: directory + "/ledger.sqlite")
        let sessions = try SessionRegister(ledger, clocks: .system)
        let history = RecordedHistory(AuditTrail(directory: journal), sessions: sessions, logger: Self.logger)
        try await open(history)
        try await measure("the 100 notifications that a user received last") { user in
            try await history.received(by: user, since: nil, limit: 100).count
        }
        try await measureStatistics(history, measure)
        history.close()
        try ledger.close()
    }

    /// Measures how long it takes to count the journal, and the queries of the counts.
    private func measureStatistics(
        _ history: RecordedHistory, _ measure: (String, (UserName) async throws -> Int) async throws -> Void
    ) async throws {
        let (began, before, memory) = (ContinuousClock.now, Self.processorTime, Self.residentBytes)
        var nobody = PairQuery(limit: 1)
        nobody.user = UserName(canonical: "nobody")
        var isComplete = false
        var longest = Duration.zero
        while !isComplete {
            history.refresh()
            try await Task.sleep(for: .milliseconds(20))
            let asked = ContinuousClock.now
            isComplete = try await history.statistics.pairs(nobody).coverage.isComplete
            longest = max(longest, .now - asked)
        }
        print(
            """
            statistics: counted in \(ContinuousClock.now - began), processor time \(Self.processorTime - before), \
            memory \((Self.residentBytes - memory) >> 20) MiB; the longest query meanwhile took \(longest)
            """)
        var all = PairQuery(limit: 1)
        let found = try await history.statistics.pairs(all)
        print(
            "\(found.rows.count + found.omittedPairs) pairs, \(found.total.total) sends, \(found.others.total) others")
        all.limit = PairQuery.maximumLimit
        try await measure("the 5,000 most frequent pairs, ever") { [all] _ in
            try await history.statistics.pairs(all).rows.count
        }
        all.since = Clocks.system.wall().adding(-3_600_000_000)
        try await measure("the 5,000 most frequent pairs of the last hour") { [all] _ in
            try await history.statistics.pairs(all).rows.count
        }
        try await measure("the pairs of a user, ever") { user in
            var query = PairQuery()
            query.user = user
            return try await history.statistics.pairs(query).rows.count
        }
        try await measure("the minutes of 24 hours") { _ in
            try await history.statistics.minutes(since: nil, until: nil).minutes.count
        }
        try await measure("the newest 100 sends as an operator lists them") { _ in
            var query = AuditQuery()
            query.action = .send
            return try await history.page(query, limit: 100, isOfCalls: true).rows.count
        }
    }

    private static var residentBytes: Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ")
        return (fields.flatMap { Int($0[1]) } ?? 0) * Int(getpagesize())
    }

    /// Waits until the history has opened the indexes of all segments. Before, a query of a long journal fails.
    private func open(_ history: RecordedHistory) async throws {
        for _ in 0..<1_200 {
            if (try? await history.received(by: Self.user(0), since: nil, limit: 1)) != nil { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        _ = try await history.received(by: Self.user(0), since: nil, limit: 1)
    }

    private func write(to directory: String) async throws {
        var configuration = JournalFile.Configuration(directory: directory, logger: Self.logger)
        configuration.minimumFree = 0
        configuration.keepBytes = .max
        let journal = try JournalFile(configuration)
        var ids = CallIDGenerator()
        for first in stride(from: 0, to: calls, by: 1_000) {
            try await journal.record(
                (first..<min(calls, first + 1_000)).flatMap { _ in
                    var facts = CallFacts(call: ids.next(), peer: Peer(address: .v4(0xC000_0201), text: "192.0.2.1"))
                    facts.action = .send
                    facts.user = Self.user(Int.random(in: 0..<users))
                    facts.authenticator = "hmac-token"
                    facts.recipient = Self.user(Int.random(in: 0..<users))
                    facts.pns = .apns
                    facts.rule = "send[0]"
                    facts.bytes = 23
                    facts.digest = KeyedDigest([UInt8](repeating: 7, count: 16))
                    return [
                        JournalRecord(.intent, facts: facts),
                        JournalRecord(.outcome, facts: facts, result: "accepted", status: 200, milliseconds: 1),
                    ]
                })
        }
        await journal.close()
    }

    private func removeIndex(_ journal: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: journal) where name.hasPrefix("index-") {
            try FileManager.default.removeItem(atPath: journal + "/" + name)
        }
    }

    private func sizes(_ journal: String) throws -> (lines: Int, journal: Int, index: Int) {
        var found = (lines: 0, journal: 0, index: 0)
        for name in try FileManager.default.contentsOfDirectory(atPath: journal) {
            let path = journal + "/" + name
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            if name.hasPrefix("index-") { found.index += size }
            guard name.hasSuffix(".jsonl") else { continue }
            found.journal += size
        }
        found.lines = calls * 2
        return found
    }

    private static let logger = Logger(label: "journal") { _ in SwiftLogNoOpLogHandler() }

    private static func user(_ number: Int) -> UserName {
        // The numbered names are valid.
        UserName(canonical: "user-\(number)@example.com")!
    }

    private static func text(_ number: Double) -> String { String(format: "%.2f", number) }

    /// The processor time of this process.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
