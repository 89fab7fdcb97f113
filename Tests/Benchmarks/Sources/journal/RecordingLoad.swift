import Foundation
import Gateway
import GatewayCore
import GatewayHTTP
import GatewayStore
import GatewaySupport
import Logging
import NIOCore
import NIOPosix

/// A load of calls that only record, from two event loops. Each call waits for its intent, but not for its outcome.
struct RecordingLoad {
    let directory: String
    let calls: Int

    func measure(for time: Duration) async throws -> String {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: min(2, calls))
        let scheduler = try await EventLoopScheduler.start(group: group)
        var configuration = JournalFile.Configuration(
            directory: directory, logger: Logger(label: "journal") { _ in SwiftLogNoOpLogHandler() })
        configuration.minimumFree = 0
        let journal = try JournalFile(configuration)
        let all = AllLatencies()
        let clock = ContinuousClock()
        let before = Usage.now
        let began = clock.now
        let end = began + time
        await withTaskGroup { tasks in
            let eventLoops = Array(group.makeIterator())
            for number in 0..<calls {
                let eventLoop = eventLoops[number % eventLoops.count]
                tasks.addTask {
                    await withCheckedContinuation { done in
                        eventLoop.execute {
                            scheduler.start {
                                let own = await Self.record(journal, number, until: end)
                                all.add(own)
                                done.resume()
                            }
                        }
                    }
                }
            }
        }
        let elapsed = (clock.now - began) / .seconds(1)
        let after = Usage.now
        await journal.close()
        try await group.shutdownGracefully()
        let written = try Written(directory: directory)
        let records = Double(written.lines)
        let batches = Double(written.batches)
        return String(
            format:
                "%d concurrent: %.0f records/s, %.2f us CPU per record, %.1f records per sync, %.2f switches/sync, ",
            calls, records / elapsed, Double(after.microseconds - before.microseconds) / records, records / batches,
            Double(after.switches - before.switches) / batches) + "a call waits \(all.sum.text)"
    }

    private static func record(
        _ journal: JournalFile, _ caller: Int, until end: ContinuousClock.Instant
    ) async -> Latencies {
        let clock = ContinuousClock()
        var latencies = Latencies()
        var facts = CallFacts(
            call: CallID(process: UInt64(caller), number: 0), peer: Peer(address: .v4(1), text: "192.0.2.1"))
        facts.action = .send
        facts.user = UserName(canonical: "alice")
        facts.authenticator = "static-users"
        facts.recipient = UserName(canonical: "bob")
        facts.pns = .apns
        facts.rule = "send[0]"
        facts.bytes = 2
        facts.digest = KeyedDigest([UInt8](repeating: 7, count: 16))
        var number: UInt64 = 0
        while clock.now < end {
            number += 1
            facts.call = CallID(process: UInt64(caller), number: number)
            let began = clock.now
            guard (try? await journal.record([JournalRecord(.intent, facts: facts)])) != nil else { break }
            latencies.add(clock.now - began)
            journal.append(
                JournalRecord(.outcome, facts: facts, result: "accepted", status: 200, milliseconds: 1))
        }
        return latencies
    }
}
