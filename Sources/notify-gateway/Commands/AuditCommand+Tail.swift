import ArgumentParser
import GatewayServer
import GatewayStore

extension AuditCommand {
    /// `audit tail`: the last records, and those that come.
    struct Tail: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "tail",
            abstract: "Prints the last records as they stand in the journal, one a line, and with -f those that come.",
            discussion: "Example: notify-gateway audit tail -f | jq 'select(.kind == \"refusal\")'")

        @OptionGroup var file: ConfigurationOption
        @Option(name: [.customShort("n"), .long], help: "How many.") var lines = 10
        @Flag(name: [.customShort("f"), .long], help: "Go on until it is interrupted.") var follow = false

        /// How often segments are looked at.
        private static let pause = Duration.milliseconds(250)

        func validate() throws {
            guard (0...10_000).contains(lines) else { throw ValidationError("--lines takes 0 to 10000.") }
        }

        func run() async throws {
            var tail = JournalTail(directory: try file.load().journal.directory)
            do {
                let last = try tail.last(lines)
                try Self.say(last)
                if last.isEmpty, lines > 0, !follow { Console.complain("The journal is empty.") }
                while follow {
                    try await Task.sleep(for: Self.pause)
                    try Self.say(try tail.next())
                }
            } catch let failure as AuditIndex.Failure {
                throw CommandFailure.unavailable(failure.description)
            }
        }

        private static func say(_ lines: [[UInt8]]) throws {
            for line in lines { try Console.say(String(decoding: line, as: UTF8.self)) }
        }
    }
}
