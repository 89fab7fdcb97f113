import ArgumentParser
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewayStore
import GatewaySupport

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
            let senders = try AuditJournal.query(configuration) { try $0.senders(to: user, since: since) }
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
