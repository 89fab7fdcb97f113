import ArgumentParser
import GatewayConfiguration
import GatewayServer
import GatewayStore

extension AuditCommand {
    /// `audit tail`: prints the last records and, with `-f`, new ones as they are written.
    struct Tail: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "tail",
            abstract: "Print the last journal records, one per line, and with -f new ones as they are written.",
            discussion: "Example: notify-gateway audit tail -f | jq 'select(.kind == \"refusal\")'")

        @OptionGroup var file: ConfigurationOption
        @Option(name: [.customShort("n"), .long], help: "The number of records.") var lines = 10
        @Flag(name: [.customShort("f"), .long], help: "Print new records until interrupted.") var follow = false

        /// The period at which new records are read.
        private static let pause = Duration.milliseconds(250)

        func validate() throws {
            guard (0...10_000).contains(lines) else { throw ValidationError("--lines takes 0 to 10000.") }
        }

        func run() async throws {
            var tail = JournalTail(directory: try file.load().journal.directory)
            do {
                let last = try tail.last(lines)
                try Self.print(last)
                if last.isEmpty, lines > 0, !follow { Console.printMessage("The journal is empty.") }
                while follow {
                    try await Task.sleep(for: Self.pause)
                    try Self.print(try tail.next())
                }
            } catch let failure as AuditIndex.Failure {
                throw CommandFailure.unavailable(failure.description)
            }
        }

        private static func print(_ lines: [[UInt8]]) throws {
            for line in lines { try Console.printLine(line) }
        }
    }
}
