import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import PostgreSQLClient
import Testing

@testable import GatewayStore

/// The journals of two gateways that use one store in PostgreSQL, and their copies in it.
final class CopiedJournals {
    /// One gateway.
    struct Gateway {
        let store: PostgreSQLStore
        var fixture: JournalFixture
        let followers = JournalFollowers()
        let copy: JournalCopy

        init(_ store: PostgreSQLStore, key: Ed25519.PrivateKey, keepBytes: Int) {
            self.store = store
            let directory = TemporaryDirectory()
            fixture = JournalFixture(directory, segmentBytes: 4000, isSigned: true)
            fixture.configuration.signingKey = key
            fixture.configuration.followers = followers
            fixture.configuration.keepBytes = keepBytes
            copy = JournalCopy(
                store, key: key.publicKey, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }
    }

    private let shared: SharedStore
    let first: Gateway
    let second: Gateway

    /// - Parameter keepBytes: The maximum size of the first gateway's journal.
    init(keepBytes: Int = 20 << 30) throws {
        shared = try SharedStore()
        first = Gateway(try shared.open(shared.first), key: JournalFixture.key(1), keepBytes: keepBytes)
        second = Gateway(try shared.open(shared.second), key: JournalFixture.key(2), keepBytes: 20 << 30)
        try shared.keepAlive()
    }

    /// Opens the journal, records sends to the recipient, and closes it.
    func record(_ calls: Range<Int>, to recipient: String = "bob", at gateway: Gateway) async throws {
        // Lines that are written again differ in their time.
        gateway.fixture.hands.pass(seconds: 1)
        let journal = try gateway.fixture.open()
        for number in calls {
            try await journal.record([
                JournalFixture.intent(number, to: recipient), JournalFixture.outcome(number, to: recipient),
            ])
        }
        await journal.close()
    }

    /// Copies all lines to the store, as the sink does. Returns the reasons for which it began again.
    @discardableResult
    func copy(_ gateway: Gateway, linesAtOnce: Int = 20) async throws -> [String] {
        let follower = JournalFollower(directory: gateway.fixture.directory.path)
        let end = gateway.followers.durableEnd
        var reasons: [String] = []
        var place = JournalPosition(before: try await gateway.copy.position())
        if place.next > end { place = .oldest }
        while place.next < end {
            let part = try follower.read(from: place, before: end, within: .init(lines: linesAtOnce, bytes: 1 << 20))
            if part.count == 0 { break }
            if let reason = try await gateway.copy.add(part.lines, readFrom: place.next) {
                reasons.append(reason)
                place = JournalPosition(before: try await gateway.copy.position())
            } else {
                place = part.position
            }
        }
        return reasons
    }

    /// Records calls at the first gateway, copies its journal, and records its head at the second one.
    func publish(_ calls: Range<Int>) async throws {
        try await record(calls, at: first)
        try await copy(first)
        try await recordHeads()
    }

    /// Records the heads of the other journals in the second gateway's journal.
    func recordHeads() async throws {
        let journal = try second.fixture.open()
        for head in try await second.copy.otherHeads() { #expect(journal.append(head)) }
        await journal.close()
    }

    /// Verifies at the second gateway. Returns the result for the first one.
    func verifyAtSecond(
        allLines: Bool = false, keys: [Ed25519.PublicKey] = [], after time: Duration = .zero
    ) throws -> NodeJournalVerification.Result {
        let report = try second.fixture.verified(keys: [JournalFixture.key(2).publicKey])
        #expect(report.finding == nil)
        var options = NodeJournalVerification.Options(keep: Self.keep, now: self.time(after: time))
        (options.verifiesLines, options.keys) = (allLines, keys)
        let results = try NodeJournalVerification(second.store, options).run(report.nodeHeads)
        #expect(results.count == 1)
        return try #require(results.first { $0.node == first.store.node.instance })
    }

    /// How long the journals keep lines.
    static let keep = Duration.seconds(86_400)

    /// Returns a time after the last line of the second gateway's journal.
    func time(after duration: Duration) -> WallTime {
        WallTime(microseconds: second.fixture.hands.time.microseconds + Int64(duration / .microseconds(1)))
    }

    /// Ends the liveness of the first gateway some time ago.
    func stopFirst(ago seconds: Int64) throws {
        try execute(
            """
            UPDATE node SET until = (extract(epoch FROM now()) * 1000000)::bigint - \(seconds * 1_000_000)
            WHERE instance = '\(first.store.node.instance)'
            """)
    }

    /// Returns a connection of the test.
    func connect() throws -> PostgreSQLConnection { try shared.connect() }

    /// Executes statements on a connection of its own.
    func execute(_ sql: String) throws { try shared.run(sql) }

    /// Returns the texts of the first column.
    func texts(_ sql: String) throws -> [String] {
        let connection = try shared.connect()
        defer { connection.close() }
        var found: [String] = []
        try connection.forEachRow(sql) { _, values in
            switch values[0] {
            case .text(let text): found.append(text)
            case .integer(let number): found.append("\(number)")
            case .null: found.append("")
            case .bytes(let bytes): found.append("\(bytes.count) bytes")
            }
        }
        return found
    }
}
