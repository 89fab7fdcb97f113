import ArgumentParser
import BenchmarkSupport
import Foundation

/// What the record of who notified whom costs: in calls a second, in processor time, and in waiting.
@main
struct JournalBenchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal", abstract: "Measure what the journal costs, alone and in the way of a send.",
        discussion: "Example: swift run --configuration release journal --directory /var/tmp")

    @Option(help: "Where the journals are put, in directories that are removed afterwards: the disk that is measured.")
    var directory = NSTemporaryDirectory()

    @Option(help: "How long each measurement takes, in seconds.")
    var seconds = 5

    @Option(help: "How many connections send at once.")
    var connections = 64

    @Option(help: "How often the pairs with and without a journal are repeated.")
    var rounds = 3

    func validate() throws {
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds takes 1 to 600") }
        guard (1...4096).contains(connections) else { throw ValidationError("--connections takes 1 to 4096") }
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100") }
    }

    func run() async throws {
        let time = Duration.seconds(seconds)
        print("journal alone, 1 call at a time and \(connections), an intent and an outcome each:")
        for calls in [1, connections] {
            let directory = try TemporaryDirectory(in: directory)
            print("  \(try await RecordingLoad(directory: directory.path, calls: calls).measure(for: time))")
        }
        print("sends through a gateway, 1 connection and \(connections):")
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
        print("with against without, \(connections) connections: \(ratios.map { String(format: "%.2f", $0) })")
    }
}
