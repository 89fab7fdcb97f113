import ArgumentParser
import GatewayCore
import GatewayOperations
import GatewayServer
import GatewaySupport

/// `bans`: lists and lifts the login bans of the running gateway.
struct BansCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bans", abstract: "List and lift login bans after failed logins.",
        discussion: """
            After too many failed logins, further passwords are rejected for a time. Bans end with the gateway's \
            process.
            """,
        subcommands: [List.self, Lift.self])

    /// `bans list`: lists the login bans.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the login bans with their remaining seconds.",
            discussion: """
                A row without a user applies to all users at that address. A row without an address applies to all \
                addresses from which the user has never logged in.

                Example: notify-gateway bans list --json --config gateway.yaml
                """)

        @OptionGroup var gateway: ControlOption

        func run() async throws {
            try await gateway.sendAndPrint(
                ControlRequest("bans list"),
                columns: [
                    .init("user", "USER", absent: "(everybody)"), .init("address", "ADDRESS", absent: "(anywhere new)"),
                    .init("seconds", "SECONDS"),
                ])
        }
    }

    /// `bans lift`: lifts login bans.
    struct Lift: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Lift the login bans of a user, of an address, or all.",
            discussion: """
                Takes effect at once and is recorded with your uid. Lifting a user's and an address's bans may take \
                two commands.

                Example: notify-gateway bans lift --user alice --config gateway.yaml
                """)

        @Option(help: "Lift the bans of this user, at all addresses.") var user: String?
        @Option(help: "Lift the bans of this address; an IPv6 address stands for its /64.") var address: String?
        @Flag(help: "Lift all bans.") var all = false
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
            var (lifted, of): (Int64, String) = (0, "")
            let fault = try await gateway.send(ControlRequest("bans lift", arguments)) { item in
                if gateway.results.json { try gateway.results.print(item) }
                lifted = item["lifted"]?.integer ?? 0
                of = item["user"]?.string.map { " of \($0.printable)" } ?? ""
            }
            if let fault { throw fault }
            Console.printMessage(lifted == 0 ? "There was nothing\(of) to lift." : "Lifted: \(lifted)\(of).")
        }
    }
}
