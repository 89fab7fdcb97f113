import Foundation
import GatewayCore
import GatewayTesting
import Logging
import Synchronization
import Testing

@testable import GatewayStore
@testable import GatewaySupport

/// A journal in a separate directory, on a file system with injected faults.
struct JournalFixture {
    let directory: TemporaryDirectory
    let files = FaultyFileSystem()
    let hands: Hands
    /// The journal's log.
    let log = JournalLog()
    var configuration: JournalFile.Configuration

    /// The journal's clocks.
    final class Hands: Sendable {
        let nanoseconds = Mutex<Int64>(0)

        /// The error of the wall clock in seconds.
        let error = Mutex<Int64>(0)

        func pass(seconds: Int64) { nanoseconds.withLock { $0 += seconds * 1_000_000_000 } }

        /// Sets the wall clock only.
        func setClock(ahead seconds: Int64) { error.withLock { $0 = seconds } }

        /// The wall-clock time.
        var time: WallTime {
            let error = error.withLock { $0 }
            return WallTime(
                microseconds: 1_795_000_000_000_000 + error * 1_000_000 + nanoseconds.withLock { $0 } / 1000)
        }
    }

    init(
        _ directory: TemporaryDirectory = TemporaryDirectory(), segmentBytes: Int = 64 << 20, minimumFree: Int = 0,
        queueLimit: Int = 65_536, isSigned: Bool = false
    ) {
        self.directory = directory
        let hands = Hands()
        self.hands = hands
        let clocks = Clocks(
            monotonic: { MonotonicInstant(nanoseconds: hands.nanoseconds.withLock { $0 }) },
            wall: { hands.time })
        let log = self.log
        let logger = Logger(label: "journal") { _ in log.handler }
        var configuration = JournalFile.Configuration(directory: directory.path, clocks: clocks, logger: logger)
        configuration.segmentBytes = segmentBytes
        configuration.minimumFree = minimumFree
        configuration.queueLimit = queueLimit
        configuration.initialRetryDelay = .milliseconds(1)
        configuration.maximumRetryDelay = .milliseconds(2)
        if isSigned { configuration.signingKey = Self.key }
        self.configuration = configuration
    }

    /// The signing key of the tests.
    static let key = key(1)
    static func key(_ byte: UInt8) -> Ed25519.PrivateKey {
        // Any 32 bytes are a valid seed.
        Ed25519.PrivateKey(seed: Secret([UInt8](repeating: byte, count: 32)))!
    }

    /// Verifies the journal.
    func verified(
        copies: CheckpointCopies? = nil, keys: [Ed25519.PublicKey] = [key.publicKey]
    ) throws -> JournalVerification.Report {
        try JournalVerification(directory: directory.path, keys: keys, copies: copies).run()
    }

    func open() throws(JournalUnavailable) -> JournalFile { try JournalFile(configuration, files: files) }

    /// Returns a copy of the journal's directory as a crash at this moment would leave it.
    func afterCrash() throws -> JournalFixture {
        let copy = TemporaryDirectory()
        try FileManager.default.copyItem(atPath: directory.path, toPath: copy.path)
        return JournalFixture(
            copy, segmentBytes: configuration.segmentBytes, isSigned: configuration.signingKey != nil)
    }

    func lines() throws -> [ReadLine] { try JournalReading.verified(directory) }

    static func facts(_ number: Int, to recipient: String? = nil) -> CallFacts {
        var facts = CallFacts(
            call: CallID(process: 7, number: UInt64(number)), peer: Peer(address: .v4(1), text: "192.0.2.1"))
        facts.action = .send
        facts.user = UserName(canonical: "alice")
        facts.recipient = UserName(canonical: recipient ?? "bob")
        return facts
    }

    static func call(_ number: Int) -> String { CallID(process: 7, number: UInt64(number)).text }

    static func intent(_ number: Int, to recipient: String? = nil) -> JournalRecord {
        JournalRecord(.intent, facts: facts(number, to: recipient))
    }

    static func outcome(_ number: Int, to recipient: String? = nil) -> JournalRecord {
        JournalRecord(
            .outcome, facts: facts(number, to: recipient), result: CallResult.accepted.rawValue, status: 200,
            milliseconds: 3)
    }

    static func rejection(_ number: Int) -> JournalRecord {
        JournalRecord(.rejection, facts: facts(number), result: RejectionCode.rateLimited.rawValue)
    }
}

extension JournalFixture {
    /// Returns once records are accepted again. The journal logs the end of an outage after it.
    func untilWell(_ journal: JournalFile) async { await log.wait { journal.outage == nil } }

    /// Returns once records are rejected. During an outage the journal repeatedly tries to create a file.
    func untilIll(_ journal: JournalFile) async { await files.state.wait { _ in journal.outage != nil } }
}
