import ArgumentParser
import BenchmarkSupport
import Foundation

/// Measures the cost of the journal: calls per second, processor time, and latency.
@main
struct JournalBenchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal", abstract: "Measure the cost of the journal, alone and as part of a send.",
        discussion: "Example: swift run --configuration release journal --directory /var/tmp")

    @Option(help: "A directory on the disk to measure; the journals are removed afterwards.")
    var directory = NSTemporaryDirectory()

    @Option(help: "The duration of each measurement in seconds.")
    var seconds = 5

    @Option(help: "The number of concurrent connections.")
    var connections = 64

    @Option(help: "The number of pairs with and without a journal.")
    var rounds = 3

    func validate() throws {
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds needs a value from 1 to 600") }
        guard (1...4096).contains(connections) else {
            throw ValidationError("--connections needs a value from 1 to 4096")
        }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds needs a value from 1 to 100") }
    }

    func run() async throws {
        let time = Duration.seconds(seconds)
        print("journal alone, 1 and \(connections) concurrent calls, each with an intent and an outcome:")
        for calls in [1, connections] {
            let directory = try TemporaryDirectory(in: directory)
            print("  \(try await RecordingLoad(directory: directory.path, calls: calls).measure(for: time))")
        }
        print("sends through a gateway, 1 and \(connections) connections:")
        var rates: [(off: Double, on: Double)] = []
        for connections in [1, connections] {
            for _ in 1...rounds {
                let off = try await SendLoad(journal: nil, connections: connections).measure(for: time)
                print("  without: \(off)")
                let directory = try TemporaryDirectory(in: directory)
                let on = try await SendLoad(journal: directory.path, connections: connections).measure(for: time)
                print("  with:    \(on)")
                if connections > 1 { rates.append((off.rate, on.rate)) }
            }
        }
        let ratios = rates.map { $0.on / $0.off }.sorted()
        print("ratio of with to without, \(connections) connections: \(ratios.map { String(format: "%.2f", $0) })")
    }
}
