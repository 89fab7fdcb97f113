import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewayStore
import GatewaySupport
import Glibc

/// `audit`: queries and verifies the journal.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Query the journal for who notified whom, and verify it.",
        subcommands: [
            List.self, Show.self, WhoNotified.self, Tail.self, Verify.self, Export.self, Key.self,
        ])
}

extension AuditCommand {
    /// `audit who-notified`: lists the senders of a user's notifications.
    struct WhoNotified: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "who-notified",
            abstract: "List who notified a user, how often, and how many sends failed.",
            discussion: """
                Counts the sends that were forwarded to the backend. The journal does not contain what a push service \
                did with them.

                Example: notify-gateway audit who-notified bob --since 7d
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var results: ResultOption
        @OptionGroup var nodes: NodesOption
        @Argument(help: "The recipient.") var name: String
        @Option(
            help: ArgumentHelp(
                "The start: a time (RFC 3339), a day (2026-11-22, UTC), or a span until now such as 2w or 1h30m.",
                valueName: "time"))
        var since = AuditTime.ago(seconds: 7 * 86_400)

        private static let columns: [ResultTable.Column] = [
            .init("sender", "SENDER"), .init("count", "COUNT"), .init("first", "FIRST"), .init("last", "LAST"),
            .init("platforms", "PLATFORMS"), .init("refused", "REFUSED"),
        ]

        func run() async throws {
            let configuration = try file.load()
            let user = try configuration.names.user(name)
            let since = since.time(before: Clocks.system.wall())
            let senders = try AuditJournal.query(configuration, nodes) { try $0.senders(to: user, since: since) }
            try results.print(
                senders.map { sender in
                    .object([
                        .init("sender", .string(sender.sender.text)), .init("count", .number("\(sender.count)")),
                        .init("first", sender.first.map { .string($0.description) } ?? .null),
                        .init("last", sender.last.map { .string($0.description) } ?? .null),
                        .init("platforms", .array(sender.platforms.map(JSONValue.string))),
                        .init("refused", .number("\(sender.refused)")),
                    ])
                }, columns: Self.columns)
            if senders.isEmpty { Console.printMessage("Nobody notified \(user.text) since \(since).") }
        }
    }
}

extension AuditCommand {
    /// `audit tail`: prints the last records and, with `-f`, new ones as they are written.
    struct Tail: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "tail",
            abstract: "Print the last journal records, one per line, and with -f new ones as they are written.",
            discussion: """
                If several gateways share a store, each record has the member node, which is not part of its line.

                Example: notify-gateway audit tail -f | jq 'select(.kind == "refusal")'
                """)

        @OptionGroup var file: ConfigurationOption
        @OptionGroup var nodes: NodesOption
        @Option(name: [.customShort("n"), .long], help: "The number of records.") var lines = 10
        @Flag(name: [.customShort("f"), .long], help: "Print new records until interrupted.") var follow = false

        /// The period at which new records are read.
        private static let pause = Duration.milliseconds(250)

        func validate() throws {
            guard (0...10_000).contains(lines) else { throw ValidationError("--lines takes 0 to 10000.") }
        }

        func run() async throws {
            let configuration = try file.load()
            if try AuditJournal.shared(configuration, nodes, printShared) != nil { return }
            var tail = JournalTail(directory: configuration.journal.directory)
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

        /// Prints the records of all gateways. Blocks.
        private func printShared(_ journals: SharedJournals) throws {
            var end = try journals.end()
            let last = try journals.last(lines, before: end)
            try Self.print(last.map(\.namingNode))
            if last.isEmpty, lines > 0, !follow { Console.printMessage("The journals are empty.") }
            while follow {
                let found = try journals.next(after: &end)
                try Self.print(found.map(\.namingNode))
                if found.isEmpty { usleep(UInt32(Self.pause.components.attoseconds / 1_000_000_000_000)) }
            }
        }

        private static func print(_ lines: [[UInt8]]) throws {
            for line in lines { try Console.printLine(line) }
        }
    }
}

extension AuditCommand {
    /// `audit key`: prints the public key that verifies the journal's checkpoints.
    struct Key: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "key",
            abstract: "Print the public key that verifies the journal's checkpoints.",
            discussion: """
                Store it where the gateway's user cannot write, and pass it to audit verify.

                Example: notify-gateway audit key >> /media/elsewhere/journal-keys
                """)

        @OptionGroup var file: ConfigurationOption

        func run() async throws {
            let journal = try file.load().journal
            do {
                let key = try SigningKeyFile.open(
                    journal.signingKey, outside: journal.directory, mayCreate: false)
                try Console.printResult(key.publicKey.text)
            } catch let failure as SigningKeyFile.Failure {
                throw CommandFailure.unavailable(failure.description)
            }
        }
    }
}
