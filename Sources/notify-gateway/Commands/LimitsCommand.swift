import ArgumentParser
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport

/// `limits`: shows and resets the limits of the running gateway.
struct LimitsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limits", abstract: "Show and reset the counts of the running gateway's limits.",
        discussion: """
            A limit counts separately for each combination of its keys, such as a sender and a recipient. The counts \
            end with the gateway's process.
            """,
        subcommands: [Show.self, Reset.self])

    /// The options that select limits and keys.
    struct Selector: ParsableArguments {
        @Option(help: "The limit of this name.") var limit: String?
        @Option(help: "The calls of this user.") var user: String?
        @Option(help: "The calls of members of this group.") var group: String?
        @Option(help: "The sends to this user.") var recipient: String?
        @Option(help: "The calls from this address; an IPv6 address stands for its /64.") var address: String?
        @Option(help: "The sends to this push service: apns, wns, fcm.") var pns: String?

        var arguments: [JSONValue.Member] {
            let all = [
                ("limit", limit), ("user", user), ("group", group), ("recipient", recipient), ("address", address),
                ("pns", pns),
            ]
            return all.compactMap { name, value in value.map { .init(name, .string($0)) } }
        }
    }

    /// `limits show`: lists the callers that limits slow down, or the status of selected keys.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the callers that are slowed down, or the limits of a selection.",
            discussion: """
                Without options, or with only --limit, each row is a key of a limit that is used up, for the most \
                recent of such keys, the longest wait first. With other options, each row is a limit whose keys are \
                all given, used up or not: with --user those that count by caller, with --recipient also those that \
                count by pair.

                Example: notify-gateway limits show --user alice --recipient bob --config gateway.yaml
                """)

        @OptionGroup var selector: Selector
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            try await gateway.sendAndPrint(
                ControlRequest("limits show", selector.arguments),
                columns: [
                    .init("limit", "LIMIT"), .init("user", "USER"), .init("group", "GROUP"),
                    .init("recipient", "RECIPIENT"), .init("pns", "PNS"), .init("address", "ADDRESS"),
                    .init("left", "LEFT"), .init("burst", "BURST"), .init("seconds", "WAIT"), .init("shadow", "SHADOW"),
                ])
        }
    }

    /// `limits reset`: resets the counts of limits.
    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Reset the counts of limits.",
            discussion: """
                Takes effect at once and is recorded with your uid. Several options are combined: --limit pair --user \
                alice resets the limit pair for alice and all of her recipients.

                Example: notify-gateway limits reset --user alice --config gateway.yaml
                """)

        @OptionGroup var selector: Selector
        @Flag(help: "Reset all limits.") var all = false
        @OptionGroup var gateway: ControlOption

        func validate() throws {
            guard selector.arguments.isEmpty == all else { throw ValidationError("Give --all, or what to reset.") }
        }

        func run() async throws {
            let arguments = all ? [JSONValue.Member("all", .bool(true))] : selector.arguments
            var (reset, of): (Int64, String) = (0, "")
            let fault = try await gateway.send(ControlRequest("limits reset", arguments)) { item in
                if gateway.results.json { try gateway.results.print(item) }
                reset = item["reset"]?.integer ?? 0
                let users = [item["user"]?.string, item["recipient"]?.string].compactMap(\.self)
                of = users.isEmpty ? "" : " of \(users.joined(separator: " to ").printable)"
            }
            if let fault { throw fault }
            Console.printMessage(reset == 0 ? "There was nothing\(of) to reset." : "Reset: \(reset)\(of).")
        }
    }
}
