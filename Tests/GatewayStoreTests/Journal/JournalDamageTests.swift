import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import Testing

@testable import GatewayStore

private typealias Fixture = JournalFixture

/// Changes that another process makes to a file of a running gateway.
enum Sabotage: CaseIterable, Sendable {
    case delete
    case cut
    case replace
    /// As an editor does that writes a new file: the same bytes, another inode.
    case exchange

    func carryOut(on path: String) throws {
        let manager = FileManager.default
        switch self {
        case .delete: try manager.removeItem(atPath: path)
        case .cut: #expect(truncate(path, 0) == 0)
        case .replace, .exchange:
            let other = path + ".other"
            if self == .exchange {
                try manager.copyItem(atPath: path, toPath: other)
            } else {
                try Data("somebody else's\n".utf8).write(to: URL(filePath: other))
            }
            #expect(rename(other, path) == 0)
        }
    }
}

@Suite("Journal: files that change while it is written", .timeLimit(.minutes(10)))
struct JournalDamageTests {
    private static func newest(_ fixture: JournalFixture) throws -> String {
        fixture.directory(try #require(try JournalReading.segments(in: fixture.directory).last))
    }

    /// Returns the calls whose intent is in a complete line of a segment.
    private static func recorded(_ directory: TemporaryDirectory) throws -> Set<String> {
        var calls: Set<String> = []
        for name in try JournalReading.segments(in: directory) {
            for line in try directory.bytes(name).split(separator: 0x0A) {
                guard let line = try? JournalReading.line(Array(line)), line.kind == "intent", let call = line.call
                else {
                    continue
                }
                calls.insert(call)
            }
        }
        return calls
    }

    @Test(
        "The call after the damage is rejected, the next one is recorded, and verification reports the loss",
        arguments: Sabotage.allCases)
    func open(sabotage: Sabotage) async throws {
        let fixture = JournalFixture(isSigned: true)
        let journal = try fixture.open()
        for number in 0..<10 { try await journal.record([Fixture.intent(number), Fixture.outcome(number)]) }
        try sabotage.carryOut(on: Self.newest(fixture))
        // Where the periodic check found the damage first, the call is already recorded.
        do throws(JournalUnavailable) {
            try await journal.record([Fixture.intent(10)])
        } catch {
            #expect(error.detail.contains("while it was written"))
        }
        await fixture.untilWell(journal)
        try await journal.record([Fixture.intent(11)])
        #expect(try Self.recorded(fixture.directory).contains(Fixture.call(11)))
        await journal.close()
        let report = try fixture.verified()
        #expect(report.finding == nil)
        #expect(!fixture.log.lines(.error).isEmpty)
        if sabotage == .exchange {
            #expect(report.isGood)
            #expect(journal.loss == nil)
        } else {
            // One start, and ten intents with their outcomes.
            #expect(report.losses.map(\.lines) == [1...21])
            #expect(journal.loss?.hasPrefix("lines 1 to 21 are missing: journal-00000000000000000001.jsonl") == true)
            #expect(fixture.configuration.metrics.missingLines.value == 21)
        }
        // Verification still reports the loss after a restart.
        await (try fixture.open()).close()
        #expect(try fixture.verified().losses == report.losses)
    }

    @Test("Under load, an acknowledged send that began after the damage is recorded")
    func load() async throws {
        let fixture = JournalFixture(segmentBytes: 200_000, isSigned: true)
        let journal = try fixture.open()
        var number = 0
        var refused = 0
        for round in 0..<TestRun.count(full: 100, otherwise: 12) {
            let sabotage = Sabotage.allCases[round % 3]
            // Some rounds of calls before the damage, one during it, and some after it.
            for step in 0..<20 {
                let calls = number..<(number + 8)
                number = calls.upperBound
                let damages = step == 10
                let acknowledged = await withTaskGroup(of: Int?.self) { tasks in
                    for call in calls {
                        tasks.addTask {
                            (try? await journal.record([Fixture.intent(call), Fixture.outcome(call)])) == nil
                                ? nil : call
                        }
                    }
                    if damages { #expect(throws: Never.self) { try sabotage.carryOut(on: Self.newest(fixture)) } }
                    return await tasks.reduce(into: [Int]()) { if let call = $1 { $0.append(call) } }
                }
                refused += calls.count - acknowledged.count
                guard step > 10 else { continue }
                let lost = Set(acknowledged.map(Fixture.call)).subtracting(try Self.recorded(fixture.directory))
                #expect(lost.isEmpty, "round \(round), \(sabotage): \(lost.count) of \(acknowledged.count)")
            }
            await fixture.untilWell(journal)
        }
        await journal.close()
        #expect(refused > 0)
        let report = try fixture.verified()
        #expect(report.finding == nil)
        #expect(!report.losses.isEmpty)
    }

    @Test("Without calls the periodic check detects the damage, and a readiness check detects it at once")
    func idle() async throws {
        var fixture = JournalFixture(isSigned: true)
        fixture.configuration.watchInterval = .milliseconds(5)
        let journal = try fixture.open()
        try FileManager.default.removeItem(atPath: Self.newest(fixture))
        await fixture.log.waitFor("Journal lines are missing")
        await fixture.untilWell(journal)
        #expect(await journal.check() == nil)
        await journal.close()
        #expect(try fixture.verified().losses.map(\.lines) == [1...1])

        var asked = JournalFixture(isSigned: true)
        asked.configuration.watchInterval = .seconds(600)
        let other = try asked.open()
        #expect(await other.check() == nil)
        try FileManager.default.removeItem(atPath: Self.newest(asked))
        #expect(await other.check()?.detail.contains("was deleted while it was written") == true)
        await other.close()
    }

    @Test("Removed or truncated closed segments are recorded, as one range where they adjoin")
    func closedSegments() async throws {
        let fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        let journal = try fixture.open()
        for number in 0..<60 { try await journal.record([Fixture.intent(number), Fixture.outcome(number)]) }
        let names = try JournalReading.segments(in: fixture.directory)
        let firsts = names.compactMap { JournalSegmentName($0)?.first }
        for name in names[2...3] { try FileManager.default.removeItem(atPath: fixture.directory(name)) }
        let cut = try fixture.directory.bytes(names[6])
        #expect(truncate(fixture.directory(names[6]), cut.count - 100) == 0)
        fixture.hands.pass(seconds: 10)
        try await journal.record([Fixture.intent(60)])
        await journal.close()
        let report = try fixture.verified()
        #expect(report.finding == nil)
        #expect(report.losses.map(\.lines) == [firsts[2]...(firsts[4] - 1), (firsts[7] - 1)...(firsts[7] - 1)])
        // No record describes a loss after the stop.
        try FileManager.default.removeItem(atPath: fixture.directory(names[1]))
        #expect(try fixture.verified().finding?.number == firsts[1])
    }

    @Test("A deleted directory is created again with its lock, and its lines are recorded as lost")
    func directory() async throws {
        var fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        fixture.configuration.watchInterval = .seconds(600)
        let journal = try fixture.open()
        for number in 0..<30 { try await journal.record([Fixture.intent(number), Fixture.outcome(number)]) }
        let last = try #require(try fixture.lines().last).seq
        try FileManager.default.removeItem(atPath: fixture.directory.path)
        await #expect(throws: JournalUnavailable.self) { try await journal.record([Fixture.intent(100)]) }
        await fixture.untilWell(journal)
        try await journal.record([Fixture.intent(101)])
        #expect(try fixture.directory.mode() == 0o700)
        let second = #expect(throws: JournalUnavailable.self) { try fixture.open() }
        #expect(second?.detail.contains("locked") == true)
        await journal.close()
        let report = try fixture.verified()
        #expect(report.finding == nil)
        #expect(report.losses.map(\.lines) == [1...UInt64(last)])
    }

    @Test("A deleted lock file is replaced")
    func lock() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        try FileManager.default.removeItem(atPath: fixture.directory("lock"))
        fixture.hands.pass(seconds: 10)
        try await journal.record([Fixture.intent(1)])
        try await journal.record([Fixture.intent(2)])
        #expect(throws: JournalUnavailable.self) { try fixture.open() }
        await journal.close()
        await (try fixture.open()).close()
    }

    @Test("Damage that is found at the stop is recorded before the `stop` line")
    func stop() async throws {
        let fixture = JournalFixture(isSigned: true)
        let journal = try fixture.open()
        try await journal.record([Fixture.intent(1)])
        try FileManager.default.removeItem(atPath: Self.newest(fixture))
        await journal.close()
        let report = try fixture.verified()
        #expect(report.finding == nil)
        #expect(report.losses.map(\.lines) == [1...2])
        #expect(report.last > 3)
    }

    @Test("An unrecorded loss is a finding: a record of a loss must itself be valid")
    func forged() async throws {
        var fixture = JournalFixture(isSigned: true)
        fixture.configuration.watchInterval = .seconds(600)
        let journal = try fixture.open()
        for number in 0..<5 { try await journal.record([Fixture.intent(number)]) }
        try FileManager.default.removeItem(atPath: Self.newest(fixture))
        await #expect(throws: JournalUnavailable.self) { try await journal.record([Fixture.intent(5)]) }
        await fixture.untilWell(journal)
        await journal.close()
        let name = try #require(try JournalReading.segments(in: fixture.directory).first)
        let text = String(decoding: try fixture.directory.bytes(name), as: UTF8.self)
        try fixture.directory.write(Array(text.replacing("\"first\":1", with: "\"first\":6").utf8), to: name)
        #expect(try fixture.verified().finding?.number == 7)
    }
}
