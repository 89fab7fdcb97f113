import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import OutboundHTTP

@testable import SegmentArchive

/// A journal with small segments and its archive, in a directory of its own, with a clock that waits advance.
final class ArchiveFixture: Sendable {
    let files: TestFiles
    let clock = ManualClock()
    let followers = JournalFollowers()
    let journal: JournalFile
    let archive: SegmentArchive
    /// The log messages of the archive and of the journal, with their metadata.
    let messages = AwaitableValue<[String]>([])
    /// The waits after failures, in order.
    let waits = AwaitableValue<[Duration]>([])
    private let polls = AwaitableValue(0)
    private let pauses = AwaitableValue(0)

    static let key = Ed25519.PrivateKey(seed: Secret([UInt8](repeating: 1, count: 32)))

    /// The directory of the journal.
    var directory: String { files.path + "/journal" }

    /// Opens the journal, or opens it again.
    init(_ files: TestFiles? = nil, keepBytes: Int = 20 << 30) throws {
        let files = try files ?? TestFiles()
        self.files = files
        let messages = messages
        let logger = Logger(label: "test") { _ in MessageLog(messages: messages) }
        var configuration = JournalFile.Configuration(
            directory: files.path + "/journal", clocks: clock.clocks, logger: logger)
        configuration.minimumFree = 0
        configuration.segmentBytes = 2000
        configuration.keepBytes = keepBytes
        configuration.followers = followers
        configuration.signingKey = Self.key
        journal = try JournalFile(configuration)
        let (clock, waits, polls, pauses) = (clock, waits, polls, pauses)
        let timing = DeliveryTiming(
            clocks: clock.clocks,
            sleep: { duration in
                if duration == SegmentUploader.pollInterval {
                    // Counted after the number is read, so that a test that saw the pause can end it.
                    let seen = polls.current
                    pauses.withLock { $0 += 1 }
                    await polls.wait { $0 > seen }
                } else {
                    clock.advance(by: duration)
                    waits.withLock { $0.append(duration) }
                }
                try Task.checkCancellation()
            }, jitter: { 1 })
        archive = SegmentArchive(
            SegmentArchive.Journal(directory: files.path + "/journal", followers: followers), timing: timing,
            logger: logger)
    }

    /// Records calls, two lines each.
    func record(_ calls: Range<Int>) async throws {
        for number in calls {
            var facts = CallFacts(
                call: CallID(process: 7, number: UInt64(number)), peer: Peer(address: .v4(1), text: "192.0.2.1"))
            facts.action = .send
            facts.user = UserName(canonical: "alice")
            facts.recipient = UserName(canonical: "bob")
            try await journal.record([
                JournalRecord(.intent, facts: facts),
                JournalRecord(.outcome, facts: facts, result: "accepted", status: 200),
            ])
        }
    }

    /// Starts the archive with the settings, and returns once it has no work left.
    func start(_ settings: ArchiveSettings) async {
        let seen = pauses.current
        await archive.apply(settings)
        await pauses.wait { $0 > seen }
    }

    /// Lets the archive look for segments, and returns once it has no work left.
    func untilIdle() async {
        let seen = pauses.current
        polls.withLock { $0 += 1 }
        await pauses.wait { $0 > seen }
    }

    /// The finished segments by their keys.
    func finished(prefix: String = "node") throws -> [String: [UInt8]] {
        let segments = try FinishedSegments(directory: directory)
        return Dictionary(
            uniqueKeysWithValues: try segments.list(before: followers.durableEnd).map {
                ("\(prefix)/\($0.name.text)", Array(try files.text(of: "journal/\($0.name.text)").utf8))
            })
    }

    /// Stops the archive and closes the journal.
    func close() async {
        // A cancelled wait returns, so this ends the pause of the archive.
        await archive.stop()
        await journal.close()
    }
}

/// Keeps the messages of a log.
private struct MessageLog: LogHandler {
    let messages: AwaitableValue<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let details = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        messages.withLock { $0.append("\(event.message) \(details)") }
    }
}
