import ArgumentParser
import GatewayCore
import GatewayServer

/// `bans`: whose passwords the running gateway refuses at present.
struct BansCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bans", abstract: "Show and lift what wrong passwords have led to.",
        discussion: """
            Who tries too many passwords has to wait before one more is judged. Nothing of it outlives the gateway's process.
            """,
        subcommands: [List.self, Lift.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List who has to wait, and how many seconds.",
            discussion: """
                A line without user is about everybody at that address; one without address is about all addresses from which
                the user has never logged in.

                Example: notify-gateway bans list --json --config gateway.yaml
                """)

        @OptionGroup var gateway: ControlOption

        func run() async throws {
            try await gateway.print(
                ControlRequest("bans list"),
                columns: [
                    .init("user", "USER", absent: "(everybody)"), .init("address", "ADDRESS", absent: "(anywhere new)"),
                    .init("seconds", "SECONDS"),
                ])
        }
    }

    struct Lift: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget the wrong passwords of a user or from an address.",
            discussion: """
                Counts at once, and is recorded with your uid. Lifting both a user's and an address's bans may take two commands.

                Example: notify-gateway bans lift --user alice --config gateway.yaml
                """)

        @Option(help: "Of this user, from wherever they came.") var user: String?
        @Option(help: "From this address, for whomever; an IPv6 address stands for its /64.") var address: String?
        @Flag(help: "All there are.") var all = false
        @OptionGroup var gateway: ControlOption

        func validate() throws {
            guard [user != nil, address != nil, all].count(where: \.self) == 1 else {
                throw ValidationError("Give one of --user, --address and --all.")
            }
        }

        func run() async throws {
            var arguments: [JSONValue.Member] = []
            if let user { arguments.append(.init("user", .string(user))) }
            if let address { arguments.append(.init("address", .string(address))) }
            if all { arguments.append(.init("all", .bool(true))) }
            var lifted: Int64 = 0
            let fault = try await gateway.ask(ControlRequest("bans lift", arguments)) { item in
                if gateway.results.json { try gateway.results.say(item) }
                lifted = item["lifted"]?.integer ?? 0
            }
            if let fault { throw fault }
            Console.complain(lifted == 0 ? "There was nothing to lift." : "Lifted: \(lifted).")
        }
    }
}
