import Foundation
import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

/// A closed journal of several segments, and a set of queries on it.
struct AuditFixture {
    let journal: JournalFixture

    var directory: TemporaryDirectory { journal.directory }
    /// The file names of the indexes of the closed segments, in order.
    func indexNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasPrefix("index-") }.sorted()
    }

    /// Writes forty sends of three users, with failures, rejections, a shadow policy and an audience, and closes the
    /// journal.
    init(sends: Int = 40) async throws {
        journal = JournalFixture(segmentBytes: 6000, isSigned: true)
        let file = try journal.open()
        for number in 0..<sends {
            var facts = JournalFixture.facts(number, to: number % 5 == 0 ? "carol" : "bob")
            facts.user = UserName(canonical: number % 2 == 0 ? "alice" : "dave")
            facts.pns = number % 3 == 0 ? .fcm : .apns
            facts.rule = number % 7 == 0 ? "would-refuse" : "send[0]"
            if number % 11 == 0 { facts.wouldLimit = ["inbox"] }
            let result: CallResult = number % 8 == 0 ? .backendUnreachable : .accepted
            try await file.record([
                JournalRecord(.intent, facts: facts), JournalRecord(.outcome, facts: facts, result: result.rawValue),
            ])
            journal.hands.pass(seconds: 60)
        }
        var refused = JournalFixture.facts(sends, to: "bob")
        refused.limit = "sends"
        file.append(JournalRecord(.rejection, facts: refused, result: RejectionCode.rateLimited.rawValue, count: 7))
        await file.close()
    }

    private init(_ journal: JournalFixture) { self.journal = journal }

    /// Copies the journal with its index to a separate directory.
    func copy() throws -> AuditFixture { AuditFixture(try journal.afterCrash()) }

    /// The queries with their results, as text.
    typealias Answers = [String: String]

    /// Runs all queries on the trail, or only the fast ones.
    static func answers(_ trail: AuditTrail, isBrief: Bool = false) throws -> Answers {
        var answers: Answers = [:]
        let bob = try #require(UserName(canonical: "bob"))
        answers["senders"] = "\(try trail.senders(to: bob, since: WallTime(microseconds: 0)))"
        for (name, query) in try queries() where !isBrief || ["all", "call", "would-refuse"].contains(name) {
            for limit in [3, Int.max] {
                var text = ""
                let isMore = try trail.lines(query, limit: limit) { text += String(decoding: $0, as: UTF8.self) + "\n" }
                answers["\(name), \(limit) lines"] = "\(text)\(isMore)"
            }
            var calls = ""
            let isMore = try trail.calls(query, limit: 4) { lines in
                calls += lines.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "+") + "\n"
            }
            answers["\(name), calls"] = "\(calls)\(isMore)"
        }
        return answers
    }

    /// Returns the results from the segments alone.
    func expected(isBrief: Bool = false) throws -> Answers {
        try Self.answers(AuditTrail(directory: directory.path), isBrief: isBrief)
    }

    private static func queries() throws -> [(String, AuditQuery)] {
        func asking(_ change: (inout AuditQuery) -> Void) -> AuditQuery {
            var query = AuditQuery()
            change(&query)
            return query
        }
        let bob = try #require(UserName(canonical: "bob"))
        let late = WallTime(microseconds: 1_795_000_000_000_000 + 20 * 60_000_000)
        return [
            ("all", AuditQuery()), ("no checkpoints", asking { $0.hidesChainRecords = true }),
            ("to bob", asking { $0.to = bob }), ("since", asking { $0.since = late }),
            ("until", asking { $0.until = late }), ("call", asking { $0.call = JournalFixture.call(7) }),
            ("accepted", asking { $0.result = "accepted" }), ("rule", asking { $0.rule = "send[0]" }),
            ("would-refuse", asking { $0.result = AuditQuery.wouldReject }),
            ("would-limit", asking { $0.result = AuditQuery.wouldLimit }), ("limit", asking { $0.limit = "inbox" }),
            ("refused by", asking { $0.limit = "sends" }), ("peer", asking { $0.peer = "192.0.2.1" }),
            ("nothing", asking { $0.result = "banned" }),
        ]
    }

    /// Opens the index as a query does, runs all queries, and closes it cleanly.
    func asked(isBrief: Bool = false) throws -> (answers: Answers, obstacle: AuditIndex.Failure?) {
        let trail = AuditTrail(directory: directory.path)
        defer { trail.close() }
        let obstacle = trail.update()
        return (try Self.answers(trail, isBrief: isBrief), obstacle)
    }

    /// The files of the directory, each with its size, inode and time of its last change.
    func inventory() throws -> [File] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted().map { name in
            var status = stat()
            guard lstat(directory(name), &status) == 0 else { throw FileFailure("lstat", name) }
            return File(
                name: name, size: Int(status.st_size), inode: UInt64(status.st_ino),
                changed: [Int(status.st_ctim.tv_sec), Int(status.st_ctim.tv_nsec)])
        }
    }

    /// A file as it lies in the directory.
    struct File: Equatable {
        let name: String
        let size: Int
        let inode: UInt64
        let changed: [Int]
    }
}
