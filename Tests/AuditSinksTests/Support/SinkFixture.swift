import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import OutboundHTTP
import Synchronization

@testable import AuditSinks

/// A journal and its sinks in a directory of their own, with a clock that the waits of the sinks advance.
final class SinkFixture: Sendable {
    let directory: TestFiles
    let clock = ManualClock()
    let followers = JournalFollowers()
    let journal: JournalFile
    let sinks: AuditSinks
    /// The waits after failures, in order.
    let waits = AwaitableValue<[Duration]>([])
    private let polls = AwaitableValue(0)
    /// The number of waits that sinks have begun, for records or after failures.
    private let pauses = AwaitableValue(0)

    /// Opens the journal.
    ///
    /// - Parameters:
    ///   - keepBytes: the maximum size of the journal.
    ///   - jitter: the random part of each wait.
    ///   - copy: the copy of the journal in a shared store.
    ///   - pollsByClock: whether sinks look for records at their own interval, and not when the test says so.
    init(
        _ directory: TestFiles? = nil, segmentBytes: Int = 64 << 20, keepBytes: Int = 20 << 30, jitter: Double = 1,
        pollsByClock: Bool = false, copy: JournalCopy? = nil
    ) throws {
        let directory = try directory ?? TestFiles()
        self.directory = directory
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var configuration = JournalFile.Configuration(
            directory: directory.path + "/journal", clocks: clock.clocks, logger: logger)
        configuration.minimumFree = 0
        configuration.segmentBytes = segmentBytes
        configuration.keepBytes = keepBytes
        configuration.followers = followers
        // Without a key no segment is removed. Any 32 bytes are a valid seed.
        if keepBytes < 20 << 30 {
            configuration.signingKey = Ed25519.PrivateKey(seed: Secret([UInt8](repeating: 1, count: 32)))
        }
        journal = try JournalFile(configuration)
        let (clock, waits, polls, pauses) = (clock, waits, polls, pauses)
        let timing = DeliveryTiming(
            clocks: clock.clocks,
            sleep: { duration in
                let isPoll = duration == AuditSink.pollInterval
                if isPoll, pollsByClock {
                    pauses.withLock { $0 += 1 }
                    try await Task.sleep(for: duration)
                } else if isPoll {
                    // Counted after the number is read, so that a test that saw the pause can end it.
                    let seen = polls.current
                    pauses.withLock { $0 += 1 }
                    await polls.wait { $0 > seen }
                } else {
                    clock.advance(by: duration)
                    waits.withLock { $0.append(duration) }
                    pauses.withLock { $0 += 1 }
                }
                try Task.checkCancellation()
            }, jitter: { jitter })
        sinks = AuditSinks(
            AuditSinks.Journal(
                directory: directory.path + "/journal", followers: followers, firstLine: journal.firstLine, copy: copy),
            timing: timing, logger: logger)
    }

    /// The path of the cursor of a sink.
    func cursor(_ name: String = "sink") -> SinkCursor { SinkCursor(sink: name, journal: directory.path + "/journal") }

    /// Records calls, two lines each, and wakes the sinks.
    func record(_ calls: Range<Int>) async throws {
        for number in calls {
            try await journal.record([
                JournalRecord(.intent, facts: Self.facts(number)),
                JournalRecord(.outcome, facts: Self.facts(number), result: "accepted", status: 200),
            ])
        }
        polls.withLock { $0 += 1 }
    }

    /// Returns once the sink has confirmed all lines that are on disk and stored its position.
    func untilConfirmed(_ name: String = "sink") async {
        func isStored() -> Bool {
            // The store keeps the position of its own sink.
            if name == AuditSinkSettings.sharedStore.name { return true }
            guard case .position(let position)? = try? cursor(name).load() else { return false }
            return position.next == followers.durableEnd
        }
        while true {
            let seen = pauses.current
            guard let reading = await sinks.readings.first(where: { $0.name == name }),
                !reading.isStarted || reading.recordsBehind > 0 || !isStored()
            else { return }
            // A sink that is at work now pauses afterwards; one that pauses looks for records.
            polls.withLock { $0 += 1 }
            await pauses.wait { $0 > seen }
        }
    }

    /// Stops the sinks and closes the journal.
    func close() async {
        await sinks.stop()
        await journal.close()
    }

    /// The state of a sink.
    func reading(_ name: String = "sink") async -> AuditSinkReading? {
        await sinks.readings.first { $0.name == name }
    }

    private static func facts(_ number: Int) -> CallFacts {
        var facts = CallFacts(
            call: CallID(process: 7, number: UInt64(number)), peer: Peer(address: .v4(1), text: "192.0.2.1"))
        facts.action = .send
        facts.user = UserName(canonical: "alice")
        facts.recipient = UserName(canonical: "bob")
        return facts
    }

    static let secret = Secret([UInt8](repeating: 0x5A, count: 32))

    /// Returns a webhook sink.
    static func webhook(
        _ url: String, name: String = "sink", start: AuditSinkSettings.Start = .now, records: Int = 500,
        timeout: Duration = .seconds(30), authority: String? = nil
    ) throws -> AuditSinkSettings {
        AuditSinkSettings(
            name: name,
            target: .webhook(
                WebhookSettings(
                    url: try EndpointURL(url), secret: secret, authority: authority, timeout: timeout,
                    records: records)), start: start)
    }
}

/// The numbers of the lines in an NDJSON text, in order.
func lineNumbers(_ text: some Sequence<UInt8>) -> [Int] {
    String(decoding: Array(text), as: UTF8.self).split(separator: "\n").compactMap { line in
        line.firstMatch(of: /"seq":(\d+),/).flatMap { Int($0.1) }
    }
}
