import ArgumentParser
import GatewayCore
import GatewayServer

/// `limits`: who is slowed down by the limits of the running gateway, and an end to it.
struct LimitsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limits", abstract: "Show and reset what was spent of the running gateway's limits.",
        discussion: """
            A limit counts for each combination of what it counts by, such as a sender and a recipient. Nothing of it outlives the
            gateway's process.
            """,
        subcommands: [Show.self, Reset.self])

    /// What is asked about.
    struct Selector: ParsableArguments {
        @Option(help: "Of the limit of this name.") var limit: String?
        @Option(help: "For this caller.") var user: String?
        @Option(help: "For this group of callers.") var group: String?
        @Option(help: "For sends to this user.") var recipient: String?
        @Option(help: "For this address; an IPv6 address stands for its /64.") var address: String?
        @Option(help: "For this push service: apns, wns, fcm.") var pns: String?

        var arguments: [JSONValue.Member] {
            let all = [
                ("limit", limit), ("user", user), ("group", group), ("recipient", recipient), ("address", address),
                ("pns", pns),
            ]
            return all.compactMap { name, value in value.map { .init(name, .string($0)) } }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List who is slowed down, or how the limits stand for somebody.",
            discussion: """
                Without options, or with --limit alone, a line is a key of a limit that has nothing left and was found so among the
                last, the longest wait first. Otherwise a line is a limit that counts by nothing but what is given, spent or not:
                with --user those of the caller alone, with --recipient too those of the pair.

                Example: notify-gateway limits show --user alice --recipient bob --config gateway.yaml
                """)

        @OptionGroup var selector: Selector
        @OptionGroup var gateway: ControlOption

        func run() async throws {
            try await gateway.print(
                ControlRequest("limits show", selector.arguments),
                columns: [
                    .init("limit", "LIMIT"), .init("user", "USER"), .init("group", "GROUP"),
                    .init("recipient", "RECIPIENT"), .init("pns", "PNS"), .init("address", "ADDRESS"),
                    .init("left", "LEFT"), .init("burst", "BURST"), .init("seconds", "WAIT"), .init("shadow", "SHADOW"),
                ])
        }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget what was spent of limits.",
            discussion: """
                Counts at once, and is recorded with your uid. Of several options all must hold: --limit pair --user alice resets
                the limit pair for alice and whomever she sends to.

                Example: notify-gateway limits reset --user alice --config gateway.yaml
                """)

        @OptionGroup var selector: Selector
        @Flag(help: "All there is.") var all = false
        @OptionGroup var gateway: ControlOption

        func validate() throws {
            guard selector.arguments.isEmpty == all else { throw ValidationError("Give --all, or what to reset.") }
        }

        func run() async throws {
            let arguments = all ? [JSONValue.Member("all", .bool(true))] : selector.arguments
            var reset: Int64 = 0
            let fault = try await gateway.ask(ControlRequest("limits reset", arguments)) { item in
                if gateway.results.json { try gateway.results.say(item) }
                reset = item["reset"]?.integer ?? 0
            }
            if let fault { throw fault }
            Console.complain(reset == 0 ? "There was nothing to reset." : "Reset: \(reset).")
        }
    }
}
