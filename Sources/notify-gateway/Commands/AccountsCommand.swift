import ArgumentParser
import GatewayCore
import GatewayOperations
import GatewaySupport

/// `accounts`: decides about account lists that differ between gateways.
struct AccountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accounts", abstract: "Decide about users files that differ between gateways.",
        subcommands: [Apply.self])

    /// `accounts apply`: applies the account lists of the running gateway.
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Apply the users files of this gateway although those of other gateways differ.",
            discussion: """
                Gateways that share a store revoke the users that a file no longer has when all files agree. This \
                command revokes them now, within a second, and is recorded with your uid. The present files of the \
                other gateways do not undo it: nothing of them is applied until they change.

                Example: notify-gateway accounts apply --config gateway.yaml
                """)

        @OptionGroup var gateway: ControlOption

        func run() async throws {
            var hosts: [String] = []
            let fault = try await gateway.send(ControlRequest("accounts apply")) { item in
                if gateway.results.json { try gateway.results.print(item) }
                if case .array(let values)? = item["overruled"] { hosts = values.compactMap(\.string) }
            }
            if let fault { throw fault }
            let others =
                hosts.isEmpty ? "" : " The account lists differ on: \(hosts.joined(separator: ", ").printable)."
            Console.printMessage("The account lists of this gateway apply.\(others)")
        }
    }
}
